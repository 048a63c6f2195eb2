module loops

go 1.26
