package app

import (
	"context"
	"errors"
	"strings"

	"loops/engine"
	"loops/engine/project"
	"loops/engine/trigger"
	"loops/persistence/sqlstore"
)

// ApplyGrants makes the roles in the database of a project, or brings them up to date, and returns the
// statements. Entries of allow and deny are QUEUE=USER, * for any queue. All is done or nothing; of a dry run
// nothing is, and no database is asked.
func ApplyGrants(ctx context.Context, p *project.Project, allow, deny []string, dry bool) ([]string, error) {
	location, _, err := p.Location()
	if err != nil {
		return nil, err
	}
	to, err := allowances("--allow", allow)
	if err != nil {
		return nil, err
	}
	from, err := allowances("--deny", deny)
	if err != nil {
		return nil, err
	}
	statements, err := sqlstore.Roles(location, to, from)
	if err != nil {
		return nil, engine.Refuse(engine.Usage, "%s", err)
	}
	if dry {
		return statements, nil
	}
	records, err := p.Records(ctx, true)
	if err != nil {
		return nil, err
	}
	defer records.Close()
	queue, err := trigger.OpenRiver(ctx, location)
	if err != nil {
		return nil, err
	}
	defer queue.Close()
	if err := queue.Prepare(ctx); err != nil {
		return nil, records.Failed(err)
	}
	store, ok := records.Store.(project.Database)
	if !ok {
		return nil, errors.New("the store is no database") // Roles has looked
	}
	if err := store.SetRoles(ctx, statements); err != nil {
		return nil, records.Failed(err)
	}
	return statements, nil
}

func allowances(flag string, words []string) (all []sqlstore.Allowance, err error) {
	for _, w := range words {
		queue, user, _ := strings.Cut(w, "=")
		if user == "" || queue != "*" && trigger.CheckQueue(queue) != nil {
			return nil, engine.Refuse(engine.Usage, "%s", flag+" "+w+": expected QUEUE=USER, or *=USER for all queues")
		}
		all = append(all, sqlstore.Allowance{Queue: queue, User: user})
	}
	return all, nil
}
