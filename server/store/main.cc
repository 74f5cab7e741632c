// evenkeel-store: backs up and restores histories of profiles.
#include <CLI/CLI.hpp>

#include <cstdio>
#include <string>
#include <vector>

#include "server/base/visible_text.h"
#include "server/store/move_history.h"

int main(int argc, char** argv) {
  using namespace evenkeel::server;
  CLI::App app(
      "Backs up and restores the history of profiles. STORE is the file of --profile-store, or "
      "redis://[USER:PASSWORD@]HOST[:PORT][/DATABASE], rediss://... with TLS, or unix:/path of a "
      "Redis.");
  app.require_subcommand(1);
  StoreName store;
  std::string file;
  const auto add = [&](const char* name, const char* help, bool store_first) {
    CLI::App* command = app.add_subcommand(name, help);
    if (store_first) command->add_option("STORE", store.store)->required();
    command->add_option("FILE", file)->required();
    if (!store_first) command->add_option("STORE", store.store)->required();
    command->add_option("--password-file", store.password_file,
                        "File whose first line is the password of that Redis");
    command->add_option("--tls-ca", store.tls_files.ca,
                        "PEM file of the authorities that sign the certificate of a rediss:// "
                        "address [those that this machine trusts]");
    auto* cert = command->add_option("--tls-cert", store.tls_files.certificate,
                                     "PEM file of a certificate for a Redis that asks for one");
    auto* key = command->add_option("--tls-key", store.tls_files.key,
                                    "PEM file of its private key, without a pass phrase");
    cert->needs(key);
    key->needs(cert);
    command->add_option("--tenant", store.tenant, "Whose history, in Redis");
    return command;
  };
  const CLI::App* dump = add("dump", "Copy STORE to FILE, also while servers run", true);
  const CLI::App* load = add("load", "Copy FILE to STORE, which must have no history", false);
  const CLI::App* salvage =
      add("salvage", "Copy the readable start of a damaged STORE to FILE", true);
  CLI::App* check = app.add_subcommand("check", "Read FILE and say what it holds");
  check->add_option("FILE", file)->required();
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 2;
  }
  std::vector<ProfileRecord> history;
  std::string error, ended_by;
  if (dump->parsed()) {
    error = ReadHistory(store, &history);
  } else if (salvage->parsed()) {
    error = SalvageHistory(store, &history, &ended_by);
  } else {
    error = ReadHistoryFile(file, &history);
  }
  if (error.empty() && (dump->parsed() || salvage->parsed()))
    error = WriteHistoryFile(file, history);
  if (error.empty() && load->parsed()) error = WriteHistory(store, history);
  if (!error.empty()) {
    std::fprintf(stderr, "evenkeel-store: %s\n", Visible(error, "\n").c_str());
    return 1;
  }
  std::printf("%zu revisions\n", history.size());
  if (!ended_by.empty()) {
    std::printf("What follows is lost: %s\n", ended_by.c_str());
  }
  return 0;
}
