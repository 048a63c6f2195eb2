package archtest

import "os"

// rootDir is the root of the module, from here. All files are read by names that begin there: where a TestMain
// changes the working directory, go test does not learn which files were read, and returns what the tests said
// of older ones.
const rootDir = "../../"

// root has the files of the module.
var root = os.DirFS(rootDir)
