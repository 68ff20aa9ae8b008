// The Go vulnerability database: its entries are read as files, and no package of it is imported. Raise it with:
//
//	go get -modfile=tools/vuln/database.mod golang.org/x/vulndb@latest
module github.com/furrow-dev/furrow/tools/vuln/database

go 1.26.0

require golang.org/x/vulndb v0.0.0-20261105234957-e22db6528018
