package main

import (
	"archive/tar"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// imagePackages are what loops and its scripts want of Debian.
const (
	imagePackages = "bash,git,ca-certificates,coreutils,findutils,grep,sed,gawk,diffutils,libc-bin,openssh-client"
	imageSuite    = "bookworm"
	imageUser     = "65532"
)

// image makes an image for containers of each architecture of Linux, as one OCI layout in a tar file, without a
// daemon: files of Debian that are unpacked and not configured, so nothing of another architecture is run, and
// the program. It runs as a user without rights in /work.
func (r *release) image(ctx context.Context) error {
	layout := filepath.Join(r.work, "oci")
	blobs := filepath.Join(layout, "blobs", "sha256")
	if err := os.MkdirAll(blobs, 0o755); err != nil { //nolint:gosec // of a release
		return err
	}
	var manifests []any
	for _, t := range r.targets {
		if t.os != "linux" {
			continue
		}
		root := filepath.Join(r.work, "root-"+t.arch)
		if err := r.imageRoot(ctx, t, root); err != nil {
			return err
		}
		d, err := r.manifest(t, root, blobs)
		if err != nil {
			return err
		}
		manifests = append(manifests, d)
	}
	index := map[string]any{
		"schemaVersion": 2, "mediaType": "application/vnd.oci.image.index.v1+json",
		"manifests": manifests,
	}
	for name, v := range map[string]any{
		"index.json": index,
		"oci-layout": map[string]any{"imageLayoutVersion": "1.0.0"},
	} {
		text, err := jsonText(v)
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(layout, name), text, 0o644); err != nil { //nolint:gosec // of a release
			return err
		}
	}
	f, err := os.Create(r.name("_oci.tar"))
	if err != nil {
		return err
	}
	defer f.Close()
	if err := writeTree(f, layout, r.date); err != nil {
		return err
	}
	return f.Close()
}

// imageRoot fills a folder with the files of the image.
func (r *release) imageRoot(ctx context.Context, t target, root string) error {
	env := []string{"SOURCE_DATE_EPOCH=" + strconv.FormatInt(r.date.Unix(), 10)}
	if _, err := output(ctx, env, "mmdebstrap", "--mode=auto", "--variant=extract", "--format=directory",
		"--architectures="+t.arch,
		"--include="+imagePackages, "--hook-dir=/usr/share/mmdebstrap/hooks/merged-usr", imageSuite, root); err != nil {
		return err
	}
	// What only the installation of a package does.
	certificates, err := allCertificates(root)
	if err != nil {
		return err
	}
	for name, text := range map[string]string{
		"etc/passwd": "root:x:0:0:root:/root:/bin/bash\nloops:x:" + imageUser + ":" +
			imageUser + "::/home/loops:/bin/bash\n",
		"etc/group":                         "root:x:0:\nloops:x:" + imageUser + ":\n",
		"etc/ssl/certs/ca-certificates.crt": certificates,
		"etc/gitconfig":                     "[safe]\n\tdirectory = *\n",
		"usr/share/doc/loops/copyright.note": "The programs of Debian in this image have their licences in " +
			"/usr/share/doc.\n",
	} {
		path := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil { //nolint:gosec // of an image
			return err
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil { //nolint:gosec // of an image
			return err
		}
	}
	for link, to := range map[string]string{"usr/bin/sh": "bash", "usr/bin/awk": "gawk"} {
		if _, err := os.Lstat(filepath.Join(root, link)); os.IsNotExist(err) {
			if err := os.Symlink(to, filepath.Join(root, link)); err != nil {
				return err
			}
		}
	}
	for _, dir := range []string{"work", "home/loops"} {
		if err := os.MkdirAll(filepath.Join(root, dir), 0o777); err != nil { //nolint:gosec // the user's
			return err
		}
		if err := os.Chmod(filepath.Join(root, dir), 0o777); err != nil { //nolint:gosec // any user that a container is started as
			return err
		}
	}
	for _, dir := range []string{"var/cache/apt", "var/lib/apt/lists", "var/log"} {
		if err := os.RemoveAll(filepath.Join(root, dir)); err != nil {
			return err
		}
	}
	program, err := os.ReadFile(r.program(t))
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(root, "usr/bin/loops"), program, 0o755) //nolint:gosec // a program
}

func allCertificates(root string) (string, error) {
	files, err := filepath.Glob(filepath.Join(root, "usr/share/ca-certificates/mozilla/*.crt"))
	if err != nil {
		return "", err
	}
	if len(files) == 0 {
		return "", fmt.Errorf("ca-certificates has no certificates in %s", root)
	}
	slices.Sort(files)
	var b strings.Builder
	for _, f := range files {
		text, err := os.ReadFile(f)
		if err != nil {
			return "", err
		}
		b.Write(text)
	}
	return b.String(), nil
}

// manifest writes the layer, the configuration and the manifest of one platform as blobs, and returns what the
// index says of it.
func (r *release) manifest(t target, root, blobs string) (any, error) {
	var layer bytes.Buffer
	zip := newGzip(&layer)
	plain := sha256.New()
	if err := writeTree(io.MultiWriter(zip, plain), root, r.date); err != nil {
		return nil, err
	}
	if err := zip.Close(); err != nil {
		return nil, err
	}
	layerAt, err := blob(blobs, "application/vnd.oci.image.layer.v1.tar+gzip", layer.Bytes())
	if err != nil {
		return nil, err
	}
	created := r.date.Format(time.RFC3339)
	config, err := json.Marshal(map[string]any{
		"created": created, "architecture": t.arch, "os": t.os,
		"config": map[string]any{
			"User": imageUser + ":" + imageUser, "WorkingDir": "/work", "Entrypoint": []string{"/usr/bin/loops"},
			"Env": []string{"PATH=/usr/local/bin:/usr/bin:/bin", "HOME=/home/loops", "LANG=C.UTF-8"},
			"Labels": map[string]string{
				"org.opencontainers.image.version":  r.version,
				"org.opencontainers.image.revision": r.commit, "org.opencontainers.image.licenses": license,
			},
		},
		"rootfs": map[string]any{
			"type":     "layers",
			"diff_ids": []string{"sha256:" + hex.EncodeToString(plain.Sum(nil))},
		},
		"history": []any{
			map[string]any{"created": created, "comment": "loops " + r.version + " over Debian " + imageSuite},
		},
	})
	if err != nil {
		return nil, err
	}
	configAt, err := blob(blobs, "application/vnd.oci.image.config.v1+json", config)
	if err != nil {
		return nil, err
	}
	text, err := json.Marshal(map[string]any{
		"schemaVersion": 2, "mediaType": manifestType, "config": configAt, "layers": []any{layerAt},
	})
	if err != nil {
		return nil, err
	}
	d, err := blob(blobs, manifestType, text)
	if err != nil {
		return nil, err
	}
	d["platform"] = map[string]string{"os": t.os, "architecture": t.arch}
	d["annotations"] = map[string]string{"org.opencontainers.image.ref.name": r.version}
	return d, nil
}

const manifestType = "application/vnd.oci.image.manifest.v1+json"

// blob writes content under its hash, and returns its descriptor.
func blob(dir, mediaType string, content []byte) (map[string]any, error) {
	h := sha256.Sum256(content)
	sum := hex.EncodeToString(h[:])
	err := os.WriteFile(filepath.Join(dir, sum), content, 0o644) //nolint:gosec // of a release
	return map[string]any{"mediaType": mediaType, "digest": "sha256:" + sum, "size": len(content)}, err
}

// writeTree writes a folder as a tar file in which every file is root's and none is younger than date.
func writeTree(w io.Writer, root string, date time.Time) error {
	archive := tar.NewWriter(w)
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || path == root {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		link := ""
		if info.Mode()&fs.ModeSymlink != 0 {
			if link, err = os.Readlink(path); err != nil {
				return err
			}
		} else if !info.IsDir() && !info.Mode().IsRegular() {
			return nil // devices: a container has its own
		}
		h, err := tar.FileInfoHeader(info, link)
		if err != nil {
			return err
		}
		name, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		h.Name = filepath.ToSlash(name)
		if info.IsDir() {
			h.Name += "/"
		}
		h.Uid, h.Gid, h.Uname, h.Gname, h.Format = 0, 0, "", "", tar.FormatPAX
		h.ModTime, h.AccessTime, h.ChangeTime, h.PAXRecords = date, time.Time{}, time.Time{}, nil
		if err := archive.WriteHeader(h); err != nil || !info.Mode().IsRegular() {
			return err
		}
		f, err := os.Open(path)
		if err != nil {
			return err
		}
		defer f.Close()
		_, err = io.Copy(archive, f)
		return err
	})
	if err != nil {
		return err
	}
	return archive.Close()
}
