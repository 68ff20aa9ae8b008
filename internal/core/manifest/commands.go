package manifest

import "strings"

var pluginCommands = strings.NewReplacer("'furrow ", "'kubectl furrow ", "`furrow ", "`kubectl furrow ")

// PluginCommands returns a text with the commands of kubectl furrow, which people use who have custom
// resources, in the place of those of furrow.
func PluginCommands(text string) string { return pluginCommands.Replace(text) }
