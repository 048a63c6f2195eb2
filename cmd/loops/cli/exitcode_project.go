package cli

import (
	"errors"
	"fmt"
	"strings"

	"loops/engine"
	"loops/engine/project"
	"loops/internal/humanize"
	"loops/internal/terminal"
	"loops/internal/view"
)

// explainProject is explain for the errors of a project; "" for others.
func explainProject(err error) (code int, text string) {
	var (
		dir      *project.DirError
		id       *project.NoIDError
		settings *project.SettingsError
		catalog  *project.CatalogError
		missing  *project.LoopNotFoundError
		file     *project.NoFileError
		invalid  *project.InvalidError
		url      *project.StoreURLError
		database *project.NoDatabaseError
		prices   *project.PricesError
	)
	switch {
	case errors.As(err, &id):
		return exitOfKind(engine.NotFound), humanize.PlainLine(view.NoIDText(id))
	case errors.As(err, &dir) && dir.Dir != "":
		return explain(usageError{"-C " + dir.Error(), "loops --help"})
	case errors.As(err, &dir):
		return exitOfKind(engine.NotFound), humanize.PlainLine(dir.Error())
	case errors.As(err, &settings):
		then := "; nothing was started"
		switch settings.About {
		case "retention":
			then = "; nothing was removed"
		case "store":
			then = ", so where runs are recorded is not known; fix that, or say it with --store"
		}
		return exitOfKind(engine.Invalid), string(view.SettingsText(settings, then))
	case errors.As(err, &catalog):
		return exitOfKind(engine.Usage), humanize.PlainLine(catalog.Error())
	case errors.As(err, &missing) && len(missing.Near) > 0:
		return exitOfKind(engine.NotFound),
			humanize.PlainLine(missing.Error() + "; did you mean " + strings.Join(missing.Near, " or ") + "?")
	case errors.As(err, &missing):
		return exitOfKind(engine.NotFound), humanize.PlainLine(missing.Error() + "; see: loops list")
	case errors.As(err, &file) && file.Missing:
		return exitOfKind(engine.NotFound), humanize.PlainLine(file.Error())
	case errors.As(err, &file):
		return exitOfKind(engine.Invalid), humanize.PlainLine(file.Error())
	case errors.As(err, &invalid):
		return exitOfKind(engine.Invalid), humanize.PlainLine(fmt.Sprintf("%v; nothing was started", invalid))
	case errors.As(err, &url):
		return explain(usageError{url.Error(), "loops store --help"})
	case errors.As(err, &database):
		return exitOfKind(engine.NotFound),
			humanize.PlainLine(database.Error() + "; if the path is right nothing was recorded there yet: " +
				"loops run makes it")
	case errors.As(err, &prices) && prices.Text:
		return exitOfKind(engine.Invalid), string(terminal.LinesOf(prices.Err))
	case errors.As(err, &prices):
		return exitOfKind(engine.Invalid), humanize.PlainLine(prices.Error())
	}
	return 0, ""
}
