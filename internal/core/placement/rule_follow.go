package placement

import "github.com/furrow-dev/furrow/internal/core/manifest"

var followResources = Rule{
	Name: "follow-resources",
	Doc:  "A CustomResourceDefinition goes where the resources of its kind go.",
	match: func(s *placer, o *manifest.Object) (decision, error) {
		kind, _, ok := manifest.DefinedScope(*o)
		if !ok {
			return decision{}, nil
		}
		return s.follow(s.resources[kind], "it follows its resource %s")
	},
}

var followContent = Rule{
	Name: "follow-content",
	Doc:  "A Namespace goes where its content goes.",
	match: func(s *placer, o *manifest.Object) (decision, error) {
		if o.ID.GroupKind() != (manifest.GroupKind{Kind: "Namespace"}) {
			return decision{}, nil
		}
		return s.follow(s.content[o.ID.Name], "it follows its content, %s")
	},
}

var followReferences = Rule{
	Name: "follow-references",
	Doc:  "A Secret or ConfigMap goes where the objects that name it go.",
	match: func(s *placer, o *manifest.Object) (decision, error) {
		if o.ID.Group != "" || o.ID.Kind != "Secret" && o.ID.Kind != "ConfigMap" {
			return decision{}, nil
		}
		return s.follow(s.namers[o.ID], "%s names it")
	},
}
