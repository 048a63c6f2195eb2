package web

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"fmt"
	"html/template"
	"io/fs"
	"mime"
	"net/http"
	"path"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"loops/internal/humanize"
)

//go:embed assets templates
var files embed.FS

// An asset is a file with the name that it is served under: what it holds is part of the name, so that a
// browser may keep it.
type asset struct {
	name   string
	text   []byte
	packed func() []byte // by gzip; nil = it is small
}

// assets are all of them, by the names of their files.
var assets = sync.OnceValue(func() map[string]asset {
	all := map[string]asset{}
	_ = fs.WalkDir(files, "assets", func(file string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := files.ReadFile(file)
		sum := sha256.Sum256(text)
		ext := path.Ext(file)
		a := asset{name: strings.TrimSuffix(path.Base(file), ext) + "-" + hex.EncodeToString(sum[:6]) + ext, text: text}
		if len(text) > largeAsset {
			a.packed = sync.OnceValue(func() []byte { return pack(text) })
		}
		all[path.Base(file)] = a
		return err
	})
	return all
})

// largeAsset is the size from which an asset is compressed for those who take that.
const largeAsset = 64 << 10

func pack(text []byte) []byte {
	var b bytes.Buffer
	w, _ := gzip.NewWriterLevel(&b, gzip.BestCompression) // there is that level
	_, _ = w.Write(text)                                  // to memory
	_ = w.Close()
	return b.Bytes()
}

func serveAsset(w http.ResponseWriter, r *http.Request) {
	for _, a := range assets() {
		if a.name == r.PathValue("name") {
			w.Header().Set("Cache-Control", "public, max-age=31536000, immutable")
			if a.packed != nil && strings.Contains(r.Header.Get("Accept-Encoding"), "gzip") {
				text := a.packed()
				w.Header().Set("Content-Encoding", "gzip")
				w.Header().Set("Content-Type", mime.TypeByExtension(path.Ext(a.name)))
				w.Header().Set("Content-Length", strconv.Itoa(len(text)))
				_, _ = w.Write(text) // the client may be gone
				return
			}
			http.ServeContent(w, r, a.name, time.Time{}, bytes.NewReader(a.text))
			return
		}
	}
	http.NotFound(w, r)
}

// templates are read when the first page is asked for: most invocations of the program serve none.
var templates = sync.OnceValue(func() *template.Template {
	t := template.New("").Funcs(template.FuncMap{
		"asset": func(base, file string) string { return base + "/assets/" + assets()[file].name },
		"plain": harmless,
		"clock": humanize.Clock,
		"do":    newButton,
		"ago":   ago,
		"yaml":  highlighted,
		"has":   slices.Contains[[]string],
		"day":   func(t time.Time) string { return t.Local().Format(time.TimeOnly) },
		"sparks": func(base string, l loopRow) any {
			return struct {
				Base string
				loopRow
			}{base, l}
		},
		"zone": func() string { return time.Now().Format("MST (UTC-07:00)") },
		"iso":  func(t time.Time) string { return t.UTC().Format(time.RFC3339) },
	})
	return template.Must(t.ParseFS(files, "templates/*.html"))
})

// ago is how long ago a moment was, or in how much time it comes, as roughly as people say it. assets/app.js
// says the same.
func ago(t time.Time) string {
	d := time.Since(t)
	text := span(max(d, -d))
	switch {
	case max(d, -d) < time.Second:
		return "just now"
	case d < 0:
		return "in " + text
	}
	return text + " ago"
}

func span(d time.Duration) string {
	switch {
	case d < time.Minute:
		return fmt.Sprintf("%d s", int(d.Seconds()))
	case d < time.Hour:
		return fmt.Sprintf("%d min", int(d.Minutes()))
	case d < 48*time.Hour:
		return fmt.Sprintf("%d h", int(d.Hours()))
	}
	return fmt.Sprintf("%d days", int(d.Hours()/24))
}

// navigation is what the pages have in their head: the name of a page, its address and its label. Workers are
// there for PostgreSQL only.
func (s *Server) navigation() [][3]string {
	s.places.once.Do(func() {
		for _, p := range s.Projects {
			session, err := p.Open()
			if err != nil {
				continue // the pages report it
			}
			if location, _, err := session.Project.Location(); err == nil && strings.HasPrefix(location, "postgres") {
				s.places.workers = true
			}
			session.Close()
		}
	})
	all := [][3]string{
		{"home", "/", "Runs"},
		{"loops", "/loops", "Loops"},
		{"schedule", "/schedule", "Schedules"},
		{"queue", "/queue", "Queue"},
	}
	if s.places.workers {
		all = append(all, [3]string{"workers", "/workers", "Workers"})
	}
	return append(all, [3]string{"cost", "/cost", "Cost"}, [3]string{"doctor", "/doctor", "Doctor"})
}

// harmless shows texts of others on several lines with what acts on a terminal, or turns the direction of
// writing, made visible.
func harmless(text string) string {
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		lines[i] = humanize.PlainLine(line)
	}
	return strings.Join(lines, "\n")
}

// A button is something that can be done to a run: a form that opens, with one field or two, and the command
// that does the same.
type button struct {
	Label, To, Field, Value, More, Hint, Class, About, Command string
}

func newButton(label, to, field, value, more, hint, class, about, command string) button {
	return button{label, to, field, value, more, hint, class, about, command}
}
