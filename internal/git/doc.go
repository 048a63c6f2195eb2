// Package git runs git for a run, through a port: [Run] or [RunEnv]. It knows nothing of loops and stores.
//
// # Work trees
//
// A run gets a work tree of its own; [Look] and [Changes] look at what is in it, and a [Hold] ends it without
// losing anything that no user asked to throw away. A tree lies in the folder .worktrees of the project it is
// of, and has a mark in git's own folder for it, which goes when the tree goes. A process that uses a tree
// holds a kernel lock on its mark.
//
// # Trees of a folder
//
// A [Walk] names what is in a folder by trees of git, compares two of them, and brings the folder back to one,
// without the index and the settings of the user.
//
// # Files on a ref
//
// A [Mirror] carries the files of a run from machine to machine through a repository: a mirror of the remote
// and a work tree of the run on each worker, and at each checkpoint a commit of what is in the tree on
// refs/loops/RUN of the remote. A push names the commit that it replaces, so that a worker that lost the run
// cannot push over its successor: that fences files as the epoch of a run fences its records.
//
// A commit of files has the HEAD of the work tree as its first parent and the commit before it on the ref as
// its second, so that every commit that was recorded stays on the remote as long as the ref. It is made from a
// copy of the index: that of the work tree is not changed.
package git
