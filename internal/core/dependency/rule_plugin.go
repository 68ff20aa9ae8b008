package dependency

var plugin = Rule{
	Name:      "plugin",
	Doc:       "An object waits for those that a plugin named in the same annotations.",
	Why:       "A plugin may know dependencies that are in no field.",
	OrderOnly: true,
	Draw: func(w *World) {
		for v, o := range w.Sources {
			if w.annotated(v) && len(o.Written) > 0 {
				waitForNamed(w, v, o, true)
			}
		}
	},
}
