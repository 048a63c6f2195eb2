package app

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/mod/semver"
)

// LatestFile is the name of the file of a release that has its version.
const LatestFile = "latest.json"

const (
	wait    = 20 * time.Second
	maximum = 64 << 10 // bytes of the file
)

// A Release is the content of its latest.json.
type Release struct {
	Version string    `json:"version"` // without the v of a tag
	Commit  string    `json:"commit"`
	Date    time.Time `json:"date"`
	URL     string    `json:"url"` // where its files are
}

// FindRelease reads the newest release from a folder, a file or an HTTP URL of either. Redirects are followed;
// only that file is read.
func FindRelease(ctx context.Context, from string) (Release, error) {
	ctx, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	var r Release
	text, err := readRelease(ctx, from)
	if err != nil {
		return r, err
	}
	if err := json.Unmarshal(text, &r); err != nil {
		return r, fmt.Errorf("%s is no %s of a release: %w", from, LatestFile, err)
	}
	if !semver.IsValid("v" + r.Version) {
		return r, fmt.Errorf("%s names no version, but %q", from, r.Version)
	}
	return r, nil
}

func readRelease(ctx context.Context, from string) ([]byte, error) {
	if strings.HasPrefix(from, "http://") || strings.HasPrefix(from, "https://") {
		return get(ctx, from)
	}
	if info, err := os.Stat(from); err == nil && info.IsDir() {
		from = filepath.Join(from, LatestFile)
	}
	f, err := os.Open(from)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if info, err := f.Stat(); err != nil {
		return nil, err
	} else if !info.Mode().IsRegular() {
		return nil, &os.PathError{Op: "read", Path: from, Err: errors.New("not a regular file")}
	}
	return limited(f, from)
}

func get(ctx context.Context, url string) ([]byte, error) {
	if !strings.HasSuffix(url, ".json") {
		url = strings.TrimSuffix(url, "/") + "/" + LatestFile
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return nil, err
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil, err
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("%s: the server answers %s", url, res.Status)
	}
	return limited(res.Body, url)
}

func limited(r io.Reader, from string) ([]byte, error) {
	text, err := io.ReadAll(io.LimitReader(r, maximum+1))
	if err == nil && len(text) > maximum {
		err = fmt.Errorf("%s has more than %d bytes; it is no %s of a release", from, maximum, LatestFile)
	}
	return text, err
}

// Newer reports whether a release is newer than the version of a program; known is false for a program that has
// no version of a release, as one that was built from a clone.
func (r Release) Newer(than string) (newer, known bool) {
	than = "v" + strings.TrimPrefix(than, "v")
	if !semver.IsValid(than) {
		return false, false
	}
	return semver.Compare("v"+r.Version, than) > 0, true
}
