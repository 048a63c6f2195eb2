package loopfile

import (
	"loops/fsm"
	"loops/fsm/confine"
	"loops/fsm/value"
)

// snapshots reads what is said of the files of a run; nil means that nothing is.
func (d *decoder) snapshots(of *block) *fsm.FileSnapshots {
	if !of.has("snapshots") {
		return nil
	}
	b := of.sub("snapshots")
	s := &fsm.FileSnapshots{Keep: b.text("keep"), Include: b.texts("include")}
	if b.has("max_file") {
		size, err := confine.ParseSize(b.text("max_file"))
		if err != nil {
			d.errorf(b.pos("max_file"), join(b.path, "max_file"), "bad-value", "max_file: %v", err)
		}
		s.MaxFile = size
	}
	for i, text := range s.Include {
		if text == "" {
			d.errorf(d.pos(deref(b.fields["include"].node.Content[i])), join(b.path, "include"), "bad-value",
				"an entry of include is empty")
		}
	}
	return s
}

func snapshotsModel(s *fsm.FileSnapshots) *value.Map {
	if s == nil {
		return nil
	}
	w := objectOf{value.NewMap("keep", s.Keep)}
	w.texts("include", s.Include)
	w.value("max_file", s.MaxFile, s.MaxFile > 0)
	return w.m
}
