package project

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"loops/internal/config"
	"loops/internal/disk"
	"loops/persistence/dirstore"
)

// answerKeyFile is the file of the key in the folder of the ledger, which git leaves out.
const answerKeyFile = ".answer-links.key"

// ignoreAll has git leave out a folder, whatever .gitignore above it says. Readers of the ledger pass over the file.
func ignoreAll(dir string) error {
	f, err := disk.OpenFile(filepath.Join(dir, ".gitignore"), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	if err != nil {
		return err
	}
	_, err = f.WriteString("*\n")
	return errors.Join(err, f.Sync(), f.Close())
}

// AnswerKeyFile returns the path of the file with the key that AnswerKey returns, which may not be there.
func (p *Project) AnswerKeyFile() string {
	if conf, _ := p.Declared(); conf.AnswerLinks.File != "" {
		return conf.AnswerLinks.File
	}
	return filepath.Join(p.Loops, dirstore.LedgerFolder, answerKeyFile)
}

// AnswerKey returns the key that signs the links by which questions are answered: that of the file in the
// settings, or one of the project. make has that one made where there is none yet; without it the error is then
// [fs.ErrNotExist].
func (p *Project) AnswerKey(make bool) (string, error) {
	conf, _ := p.Declared()
	if conf.AnswerLinks.File != "" {
		return config.Secret{File: conf.AnswerLinks.File}.Read(nil)
	}
	dir := filepath.Join(p.Loops, dirstore.LedgerFolder)
	path := filepath.Join(dir, answerKeyFile)
	key, err := config.Secret{File: path}.Read(nil)
	if !make || !errors.Is(err, fs.ErrNotExist) {
		return key, err
	}
	if err := disk.MakeFolder(p.Loops, dir); err != nil {
		return "", err
	}
	if err := ignoreAll(dir); err != nil {
		return "", err
	}
	var b [32]byte
	_, _ = rand.Read(b[:])                             // it never fails
	f, err := disk.CreateTemp(dir, answerKeyFile+"-*") // of mode 0600
	if err != nil {
		return "", err
	}
	defer os.Remove(f.Name()) //nolint:errcheck // it has another name by then
	_, err = f.WriteString(hex.EncodeToString(b[:]) + "\n")
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		return "", fmt.Errorf("the key of links cannot be written: %w", err)
	}
	if err := os.Link(f.Name(), path); err != nil && !errors.Is(err, fs.ErrExist) { // another process was faster
		return "", err
	}
	return config.Secret{File: path}.Read(nil)
}
