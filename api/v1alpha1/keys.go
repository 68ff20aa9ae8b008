package v1alpha1

// The annotations and labels with Furrow's prefix, by where they have an effect. Every
// other one is a mistake, wherever people write it.
var (
	// ObjectAnnotations are for the objects of seeds.
	ObjectAnnotations = []string{
		AnnotationCluster, AnnotationClusterSelector, AnnotationRole, AnnotationClusterType,
		AnnotationDependsOn, AnnotationHandedOverFrom, AnnotationProvides, AnnotationReadiness, AnnotationRecreate,
	}
	// SeedAnnotations are for Seeds.
	SeedAnnotations = []string{AnnotationRetry, AnnotationConfirm, AnnotationRollout, AnnotationAbandon}
	// WrittenAnnotations and WrittenLabels are written by Furrow alone.
	WrittenAnnotations = []string{AnnotationRendered}
	WrittenLabels      = []string{LabelSeed, LabelCluster, LabelReconciledCluster, LabelTier}
)

// PlacementAnnotations say where an object goes; Planter's is one of them.
var PlacementAnnotations = []string{AnnotationCluster, AnnotationClusterSelector, AnnotationRole, AnnotationPlanterCluster}
