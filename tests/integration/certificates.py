"""A certificate authority for tests, made with the openssl command."""
import os
import subprocess
import tempfile

_CONFIG = """
[ca]
default_ca = own
[own]
dir = {folder}
database = {folder}/index.txt
serial = {folder}/serial
crlnumber = {folder}/crlnumber
new_certs_dir = {folder}
certificate = {folder}/ca.pem
private_key = {folder}/ca.key
default_md = sha256
default_days = 30
default_crl_days = 30
policy = any
unique_subject = no
copy_extensions = copy
[any]
commonName = supplied
[req]
distinguished_name = name
[name]
[authority]
basicConstraints = critical,CA:true
keyUsage = critical,keyCertSign,cRLSign
subjectKeyIdentifier = hash
"""


def openssl(*arguments):
    subprocess.run(["openssl", *arguments], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                   stdin=subprocess.DEVNULL)


def read(path):
    with open(path, "rb") as file:
        return file.read()


class Authority:
    """authority.issue("client") -> (certificate path, key path); authority.ca is the path of its own certificate."""

    def __init__(self, name="test authority"):
        self._owner = tempfile.TemporaryDirectory(prefix="evenkeel-ca-")
        self.folder = self._owner.name
        self.ca = self.path("ca.pem")
        self.crls = self.path("crls")
        self.config = self.path("config")
        os.mkdir(self.crls)
        for file, text in (("index.txt", ""), ("serial", "1000\n"), ("crlnumber", "01\n"),
                           ("config", _CONFIG.format(folder=self.folder))):
            with open(self.path(file), "w", encoding="ascii") as out:
                out.write(text)
        openssl("req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "30",
                "-subj", f"/CN={name}", "-config", self.config, "-extensions", "authority",
                "-keyout", self.path("ca.key"), "-out", self.ca)
        self.write_crl()

    def path(self, name):
        return os.path.join(self.folder, name)

    def issue(self, name, san="DNS:localhost,IP:127.0.0.1", dates=()):
        """Issues a certificate. `dates`: first and last moment of its validity, as YYYYMMDDHHMMSSZ."""
        certificate, key, request = (self.path(name + end) for end in (".pem", ".key", ".csr"))
        openssl("req", "-new", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes",
                "-subj", f"/CN={name}", "-addext", f"subjectAltName={san}", "-config", self.config,
                "-keyout", key, "-out", request)
        life = ["-startdate", dates[0], "-enddate", dates[1]] if dates else []
        openssl("ca", "-batch", "-notext", "-config", self.config, *life, "-in", request, "-out", certificate)
        return certificate, key

    def revoke(self, certificate):
        openssl("ca", "-config", self.config, "-revoke", certificate)
        self.write_crl()

    def write_crl(self):
        crl = os.path.join(self.crls, "list.pem")
        openssl("ca", "-config", self.config, "-gencrl", "-out", crl + ".new")
        os.replace(crl + ".new", crl)
        openssl("rehash", self.crls)
