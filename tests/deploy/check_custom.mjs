// Checks custom resources (a JSON array on standard input) against the schemas of their CRDs, unknown keys included.
// Prints a line for each fault; exit status 1 if there is any.
//
//   node check_custom.mjs NODE_MODULES <objects.json
//
// The models of npm's @kubernetes-models validate values but let unknown keys pass. A key that the validator of an
// object never reads is one that its schema does not know: so it is given objects that note what is read.
import { readFileSync } from "node:fs";
import { pathToFileURL } from "node:url";
import path from "node:path";

const MODELS = {
  "monitoring.coreos.com/v1": "@kubernetes-models/prometheus-operator/monitoring.coreos.com/v1/index.js",
  "cert-manager.io/v1": "@kubernetes-models/cert-manager/cert-manager.io/v1/index.js",
};

function noting(value, at, unread) {
  if (value === null || typeof value !== "object") return value;
  const inner = {};
  for (const key of Object.keys(value)) {
    const name = Array.isArray(value) ? `${at}[${key}]` : `${at}.${key}`;
    unread.add(name);
    inner[key] = noting(value[key], name, unread);
  }
  return new Proxy(value, {
    get(target, key) {
      if (typeof key !== "string" || !Object.hasOwn(inner, key)) return Reflect.get(target, key);
      unread.delete(Array.isArray(value) ? `${at}[${key}]` : `${at}.${key}`);
      return inner[key];
    },
  });
}

async function faults(object) {
  const model = MODELS[object.apiVersion];
  if (!model) return [`no schema of ${object.apiVersion}`];
  const kinds = await import(pathToFileURL(path.resolve(process.argv[2], model)));
  if (!kinds[object.kind]) return [`no schema of ${object.apiVersion} ${object.kind}`];
  const unread = new Set();
  try {
    kinds[object.kind].prototype.validate.call(noting(object, "", unread));
  } catch (error) {
    return [error.message];
  }
  return [...unread].map((key) => `unknown key ${key.slice(1)}`);
}

let bad = 0;
for (const object of JSON.parse(readFileSync(0, "utf8"))) {
  for (const fault of await faults(object)) {
    console.log(`${object.kind}/${object.metadata?.name}: ${fault}`);
    bad += 1;
  }
}
process.exit(bad ? 1 : 0);
