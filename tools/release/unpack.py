"""Unpacks one platform of an OCI layout into a folder, and checks every blob: unpack.py LAYOUT ARCH FOLDER"""
import hashlib, json, pathlib, sys, tarfile

layout, arch, folder = pathlib.Path(sys.argv[1]), sys.argv[2], sys.argv[3]


def blob(d):
    path = layout / "blobs" / d["digest"].replace(":", "/")
    content = path.read_bytes()
    assert len(content) == d["size"] and "sha256:" + hashlib.sha256(content).hexdigest() == d["digest"], path
    return path, content


assert json.loads((layout / "oci-layout").read_text())["imageLayoutVersion"] == "1.0.0"
index = json.loads((layout / "index.json").read_text())
[manifest] = [m for m in index["manifests"] if m["platform"] == {"os": "linux", "architecture": arch}]
manifest = json.loads(blob(manifest)[1])
config = json.loads(blob(manifest["config"])[1])
assert config["config"]["User"] == "65532:65532", config
for layer in manifest["layers"]:
    with tarfile.open(blob(layer)[0]) as t:
        t.extractall(folder)
