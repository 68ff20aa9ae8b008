package v1alpha1

// Reason is the machine-readable cause of a state, a problem, a refusal or a warning. Errors, the published status and
// the conditions of custom resources have reasons of one list, ReasonTopics.
type Reason string

// The reasons; ReasonTopics says what each of them means.
const (
	ReasonInvalidYAML                Reason = "InvalidYAML"
	ReasonAmbiguousYAML              Reason = "AmbiguousYAML"
	ReasonUnsupportedValue           Reason = "UnsupportedValue"
	ReasonDocumentTooLarge           Reason = "DocumentTooLarge"
	ReasonNotAnObject                Reason = "NotAnObject"
	ReasonMissingField               Reason = "MissingField"
	ReasonInvalidField               Reason = "InvalidField"
	ReasonUnknownField               Reason = "UnknownField"
	ReasonExportedObject             Reason = "ExportedObject"
	ReasonInvalidName                Reason = "InvalidName"
	ReasonInvalidLabel               Reason = "InvalidLabel"
	ReasonUnknownKind                Reason = "UnknownKind"
	ReasonVersionNotServed           Reason = "VersionNotServed"
	ReasonCannotApply                Reason = "CannotApply"
	ReasonUnknownScope               Reason = "UnknownScope"
	ReasonObjectTooLarge             Reason = "ObjectTooLarge"
	ReasonMissingNamespace           Reason = "MissingNamespace"
	ReasonNamespaceRemoved           Reason = "NamespaceRemoved"
	ReasonLeftOut                    Reason = "LeftOut"
	ReasonAnnotationIgnored          Reason = "AnnotationIgnored"
	ReasonDuplicateObject            Reason = "DuplicateObject"
	ReasonPlainSecret                Reason = "PlainSecret"
	ReasonInvalidEncryption          Reason = "InvalidEncryption"
	ReasonEncryptedMetadata          Reason = "EncryptedMetadata"
	ReasonUnknownKey                 Reason = "UnknownKey"
	ReasonMisplacedKey               Reason = "MisplacedKey"
	ReasonMisplacedDocument          Reason = "MisplacedDocument"
	ReasonDuplicateDocument          Reason = "DuplicateDocument"
	ReasonBrokenDocument             Reason = "BrokenDocument"
	ReasonDuplicateSeed              Reason = "DuplicateSeed"
	ReasonEmptySeed                  Reason = "EmptySeed"
	ReasonUnsupportedPackage         Reason = "UnsupportedPackage"
	ReasonInvalidRender              Reason = "InvalidRender"
	ReasonRenderFailed               Reason = "RenderFailed"
	ReasonRenderRefused              Reason = "RenderRefused"
	ReasonRenderBudget               Reason = "RenderBudget"
	ReasonUnknownPlugin              Reason = "UnknownPlugin"
	ReasonPluginNotAllowed           Reason = "PluginNotAllowed"
	ReasonPluginDigest               Reason = "PluginDigest"
	ReasonPluginFailed               Reason = "PluginFailed"
	ReasonPluginBudget               Reason = "PluginBudget"
	ReasonPluginOutput               Reason = "PluginOutput"
	ReasonPluginRemoval              Reason = "PluginRemoval"
	ReasonPluginFinding              Reason = "PluginFinding"
	ReasonNoVariant                  Reason = "NoVariant"
	ReasonVariantAmbiguous           Reason = "VariantAmbiguous"
	ReasonVariantConflict            Reason = "VariantConflict"
	ReasonVariantUnused              Reason = "VariantUnused"
	ReasonVariantMismatch            Reason = "VariantMismatch"
	ReasonInvalidOverride            Reason = "InvalidOverride"
	ReasonOverrideUnused             Reason = "OverrideUnused"
	ReasonPlacementUnused            Reason = "PlacementUnused"
	ReasonOverrideReferenceMissing   Reason = "OverrideReferenceMissing"
	ReasonOverrideRemovesField       Reason = "OverrideRemovesField"
	ReasonSchemaMismatch             Reason = "SchemaMismatch"
	ReasonReferenceMissing           Reason = "ReferenceMissing"
	ReasonNamespaceOfCluster         Reason = "NamespaceOfCluster"
	ReasonPluginUnstable             Reason = "PluginUnstable"
	ReasonPackageTooLarge            Reason = "PackageTooLarge"
	ReasonFileSkipped                Reason = "FileSkipped"
	ReasonNothingSelected            Reason = "NothingSelected"
	ReasonFileUnreadable             Reason = "FileUnreadable"
	ReasonUnknownCluster             Reason = "UnknownCluster"
	ReasonNoClusterMatches           Reason = "NoClusterMatches"
	ReasonNoWorkloadCluster          Reason = "NoWorkloadCluster"
	ReasonNoManagementCluster        Reason = "NoManagementCluster"
	ReasonManagementClusterAmbiguous Reason = "ManagementClusterAmbiguous"
	ReasonInvalidPlacement           Reason = "InvalidPlacement"
	ReasonConflictingPlacement       Reason = "ConflictingPlacement"
	ReasonNoPlacement                Reason = "NoPlacement"
	ReasonMixedNamespace             Reason = "MixedNamespace"
	ReasonDuplicateCluster           Reason = "DuplicateCluster"
	ReasonCreatorMissing             Reason = "CreatorMissing"
	ReasonCreatorAmbiguous           Reason = "CreatorAmbiguous"
	ReasonCreatorCycle               Reason = "CreatorCycle"
	ReasonNamespaceAbsent            Reason = "NamespaceAbsent"
	ReasonInvalidHub                 Reason = "InvalidHub"
	ReasonUnknownClusterType         Reason = "UnknownClusterType"
	ReasonUnknownTemplate            Reason = "UnknownTemplate"
	ReasonUnknownRolloutPolicy       Reason = "UnknownRolloutPolicy"
	ReasonUnknownRepository          Reason = "UnknownRepository"
	ReasonRepositoryAmbiguous        Reason = "RepositoryAmbiguous"
	ReasonRepositoryMismatch         Reason = "RepositoryMismatch"
	ReasonPathConflict               Reason = "PathConflict"
	ReasonKubeConfigNotGranted       Reason = "KubeConfigNotGranted"
	ReasonInvalidDependency          Reason = "InvalidDependency"
	ReasonMissingDependency          Reason = "MissingDependency"
	ReasonWebhookBeforeBackend       Reason = "WebhookBeforeBackend"
	ReasonDependencyLeaving          Reason = "DependencyLeaving"
	ReasonReadinessDeadlock          Reason = "ReadinessDeadlock"
	ReasonDependencyCycle            Reason = "DependencyCycle"
	ReasonTierPinned                 Reason = "TierPinned"
	ReasonUnknownRule                Reason = "UnknownRule"
	ReasonBrokenSeed                 Reason = "BrokenSeed"
	ReasonObjectConflict             Reason = "ObjectConflict"
	ReasonNamespaceConflict          Reason = "NamespaceConflict"
	ReasonObjectShared               Reason = "ObjectShared"
	ReasonHandedOver                 Reason = "HandedOver"
	ReasonStillPlanted               Reason = "StillPlanted"
	ReasonClusterMoved               Reason = "ClusterMoved"
	ReasonClusterKept                Reason = "ClusterKept"
	ReasonClusterUndeclared          Reason = "ClusterUndeclared"
	ReasonPruneNotDisabled           Reason = "PruneNotDisabled"
	ReasonKeptOnCluster              Reason = "KeptOnCluster"
	ReasonUpdateRefused              Reason = "UpdateRefused"
	ReasonInvalidTemplate            Reason = "InvalidTemplate"
	ReasonTemplateBudget             Reason = "TemplateBudget"
	ReasonInvalidPlan                Reason = "InvalidPlan"
	ReasonPlanTooLarge               Reason = "PlanTooLarge"
	ReasonPlanNotVerified            Reason = "PlanNotVerified"
	ReasonControlPlaneBehind         Reason = "ControlPlaneBehind"
	ReasonControlPlaneUnrelated      Reason = "ControlPlaneUnrelated"
	ReasonControlPlaneMoved          Reason = "ControlPlaneMoved"
	ReasonForeignOwner               Reason = "ForeignOwner"
	ReasonOwnerUnknown               Reason = "OwnerUnknown"
	ReasonInvalidOwner               Reason = "InvalidOwner"

	ReasonSourceFailed          Reason = "SourceFailed"
	ReasonControlPlaneEmpty     Reason = "ControlPlaneEmpty"
	ReasonNoRepository          Reason = "NoRepository"
	ReasonRepositoryUnavailable Reason = "RepositoryUnavailable"
	ReasonRateLimited           Reason = "RateLimited"
	ReasonRepositoryNotFound    Reason = "RepositoryNotFound"
	ReasonRepositoryBroken      Reason = "RepositoryBroken"
	ReasonBranchNotFound        Reason = "BranchNotFound"
	ReasonPathNotFound          Reason = "PathNotFound"
	ReasonInvalidURL            Reason = "InvalidURL"
	ReasonURLNotAllowed         Reason = "URLNotAllowed"
	ReasonCredentialsInURL      Reason = "CredentialsInURL"
	ReasonCredentialsMissing    Reason = "CredentialsMissing"
	ReasonCredentialsNotBound   Reason = "CredentialsNotBound"
	ReasonCredentialsRefused    Reason = "CredentialsRefused"
	ReasonSigningKeyMissing     Reason = "SigningKeyMissing"
	ReasonSigningKeyUnusable    Reason = "SigningKeyUnusable"
	ReasonNotSigned             Reason = "NotSigned"
	ReasonCommitNotVerified     Reason = "CommitNotVerified"
	ReasonCertificateUntrusted  Reason = "CertificateUntrusted"
	ReasonBranchRefused         Reason = "BranchRefused"
	ReasonForgeRefused          Reason = "ForgeRefused"
	ReasonTooLargeToRead        Reason = "TooLargeToRead"
	ReasonRepositoryFailed      Reason = "RepositoryFailed"
	ReasonCommitNotFound        Reason = "CommitNotFound"
	ReasonCacheUnusable         Reason = "CacheUnusable"
	ReasonRaced                 Reason = "Raced"
	ReasonSimulationRefused     Reason = "SimulationRefused"
	ReasonNoStatus              Reason = "NoStatus"
	ReasonUnsupportedVersion    Reason = "UnsupportedVersion"

	ReasonSeedNotFound         Reason = "SeedNotFound"
	ReasonDuplicate            Reason = "Duplicate"
	ReasonGitRepositoryMissing Reason = "GitRepositoryMissing"
	ReasonGitRepositoryUnfit   Reason = "GitRepositoryUnfit"
	ReasonPlanLost             Reason = "PlanLost"
	ReasonOverridden           Reason = "Overridden"
	ReasonUnused               Reason = "Unused"
	ReasonUnreachable          Reason = "Unreachable"
	ReasonOrphaned             Reason = "Orphaned"
	ReasonRemoving             Reason = "Removing"
	ReasonProgressing          Reason = "Progressing"
	ReasonSucceeded            Reason = "Succeeded"

	ReasonWaitingForTier         Reason = "WaitingForTier"
	ReasonWaitingForRemoval      Reason = "WaitingForRemoval"
	ReasonWaitingForMove         Reason = "WaitingForMove"
	ReasonMovePending            Reason = "MovePending"
	ReasonMoveUnprotected        Reason = "MoveUnprotected"
	ReasonNeededBySeed           Reason = "NeededBySeed"
	ReasonProposing              Reason = "Proposing"
	ReasonRolloutPaused          Reason = "RolloutPaused"
	ReasonWaitingForWave         Reason = "WaitingForWave"
	ReasonWaveFailed             Reason = "WaveFailed"
	ReasonWaveDeadlock           Reason = "WaveDeadlock"
	ReasonWaveSoaking            Reason = "WaveSoaking"
	ReasonWindowClosed           Reason = "WindowClosed"
	ReasonMaxUnavailable         Reason = "MaxUnavailable"
	ReasonMaxOpenProposals       Reason = "MaxOpenProposals"
	ReasonAutoMergeIgnored       Reason = "AutoMergeIgnored"
	ReasonAutoMerging            Reason = "AutoMerging"
	ReasonWaitingForChecks       Reason = "WaitingForChecks"
	ReasonChecksFailed           Reason = "ChecksFailed"
	ReasonMergeQueued            Reason = "MergeQueued"
	ReasonChecksUnknown          Reason = "ChecksUnknown"
	ReasonBranchesUnprotected    Reason = "BranchesUnprotected"
	ReasonBaseTakesSignedOnly    Reason = "BaseTakesSignedOnly"
	ReasonSuspended              Reason = "Suspended"
	ReasonProposalOpen           Reason = "ProposalOpen"
	ReasonRemovalOpen            Reason = "RemovalOpen"
	ReasonOrphanOpen             Reason = "OrphanOpen"
	ReasonProposalOutdated       Reason = "ProposalOutdated"
	ReasonProposalStale          Reason = "ProposalStale"
	ReasonEditedByPerson         Reason = "EditedByPerson"
	ReasonEditedOnPlainGit       Reason = "EditedOnPlainGit"
	ReasonEditedAndOutdated      Reason = "EditedAndOutdated"
	ReasonEditedAndUnmergeable   Reason = "EditedAndUnmergeable"
	ReasonEditedAndRejected      Reason = "EditedAndRejected"
	ReasonEditedAndStale         Reason = "EditedAndStale"
	ReasonProposalDiffers        Reason = "ProposalDiffers"
	ReasonProposalTooWide        Reason = "ProposalTooWide"
	ReasonHeldByMember           Reason = "HeldByMember"
	ReasonWaitingForProposal     Reason = "WaitingForProposal"
	ReasonManyProposals          Reason = "ManyProposals"
	ReasonProposalIncomplete     Reason = "ProposalIncomplete"
	ReasonRejected               Reason = "Rejected"
	ReasonReverted               Reason = "Reverted"
	ReasonForeignContent         Reason = "ForeignContent"
	ReasonDeletionGuard          Reason = "DeletionGuard"
	ReasonSeedRenamed            Reason = "SeedRenamed"
	ReasonMovedToSeed            Reason = "MovedToSeed"
	ReasonRemovalOnHold          Reason = "RemovalOnHold"
	ReasonRootMissing            Reason = "RootMissing"
	ReasonRootTooWide            Reason = "RootTooWide"
	ReasonRootDoesNotPrune       Reason = "RootDoesNotPrune"
	ReasonRootWaits              Reason = "RootWaits"
	ReasonRootSuspended          Reason = "RootSuspended"
	ReasonRootSourceSuspended    Reason = "RootSourceSuspended"
	ReasonRootSourceMissing      Reason = "RootSourceMissing"
	ReasonRootSourceMismatch     Reason = "RootSourceMismatch"
	ReasonRootRepositoryMismatch Reason = "RootRepositoryMismatch"
	ReasonRootBranchMismatch     Reason = "RootBranchMismatch"
	ReasonRootSourceFailed       Reason = "RootSourceFailed"
	ReasonRootFailed             Reason = "RootFailed"
	ReasonRootUnbuildable        Reason = "RootUnbuildable"
	ReasonRootVerification       Reason = "RootVerification"
	ReasonRootRefusesMethod      Reason = "RootRefusesMethod"
	ReasonRootIgnores            Reason = "RootIgnores"
	ReasonRootUnknown            Reason = "RootUnknown"

	ReasonReconcilerMissing   Reason = "ReconcilerMissing"
	ReasonReconcilerOutdated  Reason = "ReconcilerOutdated"
	ReasonReconcilerSuspended Reason = "ReconcilerSuspended"
	ReasonReconcilerDeleting  Reason = "ReconcilerDeleting"
	ReasonReconcilerEdited    Reason = "ReconcilerEdited"
	ReasonNotFetched          Reason = "NotFetched"
	ReasonRevisionBehind      Reason = "RevisionBehind"
	ReasonRevisionUnknown     Reason = "RevisionUnknown"
	ReasonNoChannel           Reason = "NoChannel"
	ReasonStillPresent        Reason = "StillPresent"
	ReasonRootGone            Reason = "RootGone"
	ReasonOrphanPending       Reason = "OrphanPending"

	ReasonNotReady            Reason = "NotReady"
	ReasonBuildFailed         Reason = "BuildFailed"
	ReasonApplyFailed         Reason = "ApplyFailed"
	ReasonPruneFailed         Reason = "PruneFailed"
	ReasonArtifactFailed      Reason = "ArtifactFailed"
	ReasonHealthCheckFailed   Reason = "HealthCheckFailed"
	ReasonInvalidExpression   Reason = "InvalidExpression"
	ReasonAccessDenied        Reason = "AccessDenied"
	ReasonFeatureDisabled     Reason = "FeatureDisabled"
	ReasonCreatorNotThere     Reason = "CreatorNotThere"
	ReasonClusterBeingCreated Reason = "ClusterBeingCreated"
	ReasonAPIServerSilent     Reason = "APIServerSilent"
	ReasonPruning             Reason = "Pruning"
	ReasonCreatorDeleting     Reason = "CreatorDeleting"
	ReasonHealthy             Reason = "Healthy"
	ReasonGone                Reason = "Gone"
	ReasonGivenUp             Reason = "GivenUp"

	ReasonKubeConfigMissing Reason = "KubeConfigMissing"
	ReasonKubeConfigInvalid Reason = "KubeConfigInvalid"
	ReasonKubeConfigRefused Reason = "KubeConfigRefused"
	ReasonAccessForbidden   Reason = "AccessForbidden"
	ReasonKindMissing       Reason = "KindMissing"
	ReasonClusterNotReady   Reason = "ClusterNotReady"
	ReasonClusterSilent     Reason = "ClusterSilent"
	ReasonCreatorSilent     Reason = "CreatorSilent"
	ReasonClusterAbandoned  Reason = "ClusterAbandoned"

	ReasonInvalidArgument  Reason = "InvalidArgument"
	ReasonUnknownSeed      Reason = "UnknownSeed"
	ReasonUnknownObject    Reason = "UnknownObject"
	ReasonUnknownProposal  Reason = "UnknownProposal"
	ReasonProposalChanged  Reason = "ProposalChanged"
	ReasonProposalConflict Reason = "ProposalConflict"
	ReasonNotAProposal     Reason = "NotAProposal"
	ReasonGateShut         Reason = "GateShut"
	ReasonMergeRefused     Reason = "MergeRefused"
	ReasonNotConfirmed     Reason = "NotConfirmed"
	ReasonNothingToDo      Reason = "NothingToDo"
	ReasonRequestFailed    Reason = "RequestFailed"
	ReasonTimedOut         Reason = "TimedOut"
	ReasonInternal         Reason = "Internal"
)

// ReasonInfo documents one reason. The texts are Markdown, with links relative to docs/.
//
// +kubebuilder:object:generate=false
type ReasonInfo struct {
	Reason Reason
	// Sentence says what it means, and Next what to do.
	Sentence, Next string
}

// ReasonTopic is a group of reasons, as docs/troubleshooting.md has them.
//
// +kubebuilder:object:generate=false
type ReasonTopic struct {
	Title, Intro string
	Reasons      []ReasonInfo
}

// ReasonTopics has every reason once, in the order in which people meet them. docs/troubleshooting.md is generated from it.
var ReasonTopics = []ReasonTopic{
	{"A seed cannot be planned", "The seed is *Stalled*. The plan that it had stays in force, and other seeds go on. Reasons that are warnings hold nothing.", []ReasonInfo{
		{ReasonInvalidYAML, "The document is not valid YAML or JSON, or not UTF-8.", "Correct the line in the message. The text is not quoted, because it may hold a password."},
		{ReasonAmbiguousYAML, "A mapping has a key twice, or `<<` merges an earlier key; tools differ on which one counts. As a warning: YAML 1.1 and YAML 1.2 read an unquoted text differently, such as `y`, `no`, `0644`, `1e3` or `2024-01-02`, or a number has more than 64 bits.", "Keep one of the two, and put `<<` first; quote what is meant as text."},
		{ReasonUnsupportedValue, "A key or value has no form in JSON: a key that is not text, a number that is too large, infinity, a value that does not match its tag, or `!!binary`.", "Quote it if it is text; otherwise correct it."},
		{ReasonDocumentTooLarge, "The document is larger than 3 MiB, nested too deep, or too large after its aliases are expanded.", "Split it into several objects."},
		{ReasonNotAnObject, "The document is not a Kubernetes object.", "Write an object, or move the file out of the seed."},
		{ReasonMissingField, "A required field is missing or empty.", "Add it. `metadata.generateName` does not replace a name: Git needs one that stays."},
		{ReasonInvalidField, "A field has a value that is not allowed there, such as a number where API servers want text.", "Correct it, or quote it if it is meant as text; the [reference](reference.md) has the fields of Furrow's documents."},
		{ReasonUnknownField, "A warning: the release of Kubernetes that Furrow knows does not have the field. An API server that does not know it either refuses or drops it.", "Correct its name, or remove it."},
		{ReasonExportedObject, "A warning: objects were exported from a cluster. Furrow removes what only API servers write, their status, the copy that kubectl keeps in an annotation, and owners with a `uid`, without which another cluster would delete them. An encrypted object is refused.", "Remove these fields."},
		{ReasonInvalidName, "An API server would refuse the name, or it is not a valid DNS label.", "Choose another name. A seed has that of its file or directory, or of `--seed`."},
		{ReasonInvalidLabel, "An API server would refuse the key or the value of a label or annotation.", "Correct it, or make a label an annotation."},
		{ReasonUnknownKind, "Kubernetes, or Furrow, has no such kind in this API group. This is a warning if a cluster runs a Kubernetes that is newer than the newest that Furrow knows.", "Correct `kind` or `apiVersion`; the message names the most similar kind."},
		{ReasonVersionNotServed, "The API servers of the named clusters do not serve this version of the kind: Kubernetes has removed it, or has it only in newer releases, or the kind's CustomResourceDefinition does not serve it. This is a warning if it is unknown what a cluster runs, or if the version is off by default.", "Write the `apiVersion` that the message names. If the clusters do serve it, set `spec.provides.kubernetesVersion` or `spec.provides.apiVersions` of the Cluster."},
		{ReasonCannotApply, "API servers do not store objects of this kind: reviews and bindings are questions and commands.", "Remove it from the seed."},
		{ReasonUnknownScope, "A warning: it is unknown whether the kind is namespaced, so the object is used as written.", "Add its CustomResourceDefinition, or write `metadata.namespace`."},
		{ReasonObjectTooLarge, "The object exceeds a limit of the API server or of etcd, which the message names.", "Make it smaller, or split it."},
		{ReasonMissingNamespace, "The object is namespaced and has no namespace, as `helm template` prints it.", "Set `Seed.spec.namespace` or `-n`, or write `metadata.namespace`."},
		{ReasonNamespaceRemoved, "A warning: the kind is cluster-scoped, so `metadata.namespace` is removed.", "Remove it."},
		{ReasonLeftOut, "A warning: the object is not planned, because an annotation says that it is not applied on install.", "To apply it, remove the annotation."},
		{ReasonAnnotationIgnored, "A warning: an annotation of another tool has no effect, or none but to order objects.", "See [hooks and waves](rules.md#hooks-and-waves). Declare what must come first with `furrow.dev/depends-on`."},
		{ReasonDuplicateObject, "The seed has the same object twice.", "Keep one."},
		{ReasonPlainSecret, "A Secret has readable values: in plain text, in a copy in an annotation, or in a comment.", "Encrypt every value with SOPS and remove copies and comments, or set `spec.plainSecrets: Allow`. A licence may be above the first key."},
		{ReasonInvalidEncryption, "SOPS could not decrypt the object, or it counts as not encrypted: it was changed after encryption, or not written by SOPS.", "Encrypt the whole document again, with `--encrypted-regex '^(data|stringData)$'`."},
		{ReasonEncryptedMetadata, "`apiVersion`, `kind` or `metadata` is encrypted, so the object cannot be identified.", "Encrypt with `--encrypted-regex '^(data|stringData)$'`."},
		{ReasonUnknownKey, "An annotation or label with Furrow's prefix, or nearly one of Planter's, is unknown.", "Correct it to the [name](reference.md#annotations) in the message, or remove it."},
		{ReasonMisplacedKey, "An annotation or label has no effect on this object, or as this kind of metadata.", "Move it, or remove it."},
		{ReasonMisplacedDocument, "A Furrow document has no effect in this file, such as a `Seed` document without a package.", "Move it to where the message says."},
		{ReasonDuplicateDocument, "Two documents declare or configure the same thing.", "Keep one."},
		{ReasonBrokenDocument, "A document cannot be used, so what depends on it stays as last planned. [Everything else continues](reference.md#the-control-plane-tree).", "Correct the document in the message."},
		{ReasonDuplicateSeed, "Two packages have the same name.", "Keep one."},
		{ReasonEmptySeed, "The package has no object, or the command before `-f -` printed nothing.", "Add objects, or delete the package to remove the seed."},
		{ReasonUnsupportedPackage, "The package needs a renderer that Furrow does not have, or a kustomization without its own directory.", "Commit the manifests that the tool prints, such as those of `helm template`."},
		{ReasonInvalidRender, "`spec.render` cannot be used, or the package does not say which overlay a cluster gets.", "Correct it as the [reference](reference.md#kustomize) says."},
		{ReasonRenderFailed, "A renderer cannot make objects of the package.", "Correct the file in the message; `kustomize build` reports the same."},
		{ReasonRenderRefused, "A kustomization names something on another server or outside the package, a plugin, or Helm.", "Copy it into the package, or commit what the tool prints."},
		{ReasonRenderBudget, "The package exceeds a [limit](reference.md#kustomize) of time, memory, files or objects.", "Make it smaller, or split the seed."},
		{ReasonUnknownPlugin, "The Seed names a plugin that is not declared.", "Declare a `Plugin` of that name, or correct `spec.plugins`."},
		{ReasonPluginNotAllowed, "A plugin is an executable, and the operator of Furrow does not allow it.", "Add it to the directory of [`--plugins`](plugins.md#executables), or use a WASM module."},
		{ReasonPluginDigest, "A plugin's executable or module is not the one whose digest the `Plugin` has.", "Review what changed, and correct `spec.digest`."},
		{ReasonPluginFailed, "A plugin could not be run, crashed, or ended with another code than 0; the message has the end of its standard error.", "Correct the plugin, or what it objects to."},
		{ReasonPluginBudget, "A plugin exceeded a [limit](plugins.md#limits) of time, memory or output.", "Make it smaller, or raise `spec.timeout` or `spec.memory`."},
		{ReasonPluginOutput, "A plugin wrote something other than objects, or half of them.", "Correct the plugin, or set the `spec.protocol` that it uses."},
		{ReasonPluginRemoval, "A plugin left out objects that it read.", "Correct the plugin, or set `spec.allowRemoval` if it may remove objects."},
		{ReasonPluginFinding, "A plugin reports something about the seed: an error holds the seed, anything else is a warning.", "Correct what the message says."},
		{ReasonNoVariant, "No variant of the seed chooses one of its clusters.", "Add a variant for it, or a default one; or exclude the cluster with `spec.clusterSelector`."},
		{ReasonVariantAmbiguous, "Two variants of the seed choose one cluster.", "Let exactly one of them choose it."},
		{ReasonVariantConflict, "Two variants put an object of one name on one management cluster, with different content.", "Give it a name per variant, as with `namePrefix`, or the same content."},
		{ReasonVariantUnused, "No cluster gets this variant. A warning, unless the variant creates a cluster.", "Correct its `clusters` or `clusterSelector`, or remove it."},
		{ReasonVariantMismatch, "A warning: an object goes only to clusters whose variant does not have it, so it is not planned.", "Move it to that variant, or correct where it goes."},
		{ReasonInvalidOverride, "An override of the seed cannot be applied: its patch does not fit an object, would make another object of it, or no object is its target.", "Correct the override at the position in the message."},
		{ReasonOverrideUnused, "A warning: an override changes nothing on any cluster. `--strict` refuses it.", "Correct its clusters or target, or remove it."},
		{ReasonPlacementUnused, "A warning: a rule in `spec.placement` is true of no object of the seed, or of no cluster, so what it is meant for goes elsewhere. `--strict` refuses it.", "Correct the rule's expression, or remove the rule."},
		{ReasonOverrideReferenceMissing, "A warning: an override makes an object name another one of the seed, which does not go to the same cluster. Placement is decided before overrides are applied.", "Place the named object there by an annotation or a rule in `spec.placement`; or keep the reference, and override the content of what it names."},
		{ReasonOverrideRemovesField, "A warning: an override removes a field that API servers require, as the selector of a Deployment.", "Give the field another value instead of null, or leave it out of the override."},
		{ReasonSchemaMismatch, "A field does not fit the schema of its kind: that of the release of Kubernetes that a cluster runs, or that of a CustomResourceDefinition. A warning, unless `--strict` is set or the ControlPlane has `validation: Enforce`.", "Correct the field. [What is checked](reference.md#schemas)."},
		{ReasonReferenceMissing, "A warning: an object names a ConfigMap, Secret, ServiceAccount, claim, network, class, Service or Role that no seed contains, and that nothing is known to make.", "Add it to the seed, correct the name, or make sure that something else creates it. If clusters have it anyway, list it in `spec.provides.objects` of the Cluster; `furrow discover` prints classes and networks."},
		{ReasonNamespaceOfCluster, "A warning: a seed has a Namespace that every cluster has, or the one of the cluster's reconciler. Its labels and annotations are replaced with those of the seed; it is never deleted.", "Remove the Namespace from the seed, unless the seed is to set its labels."},
		{ReasonPluginUnstable, "A warning: two runs of a plugin with the same input wrote different objects, so every start of Furrow would make a new plan.", "Let its output depend on its input alone, without times, random values or the order of a map."},
		{ReasonPackageTooLarge, "The package exceeds `--max-file-size` or `--max-package-size`, or has more than 100,000 files.", "Split the file or the seed, or raise the limit."},
		{ReasonFileSkipped, "A warning: a file is not read, because of its name or because it is hidden. What it declares counts as removed.", "Rename it to end in `.yaml`, `.yml` or `.json`, or move it out."},
		{ReasonNothingSelected, "A warning: a patch, a replacement or an entry of `images` of a kustomization selects no object, and Kustomize says nothing.", "Correct the name or the target, or remove the entry."},
		{ReasonFileUnreadable, "A link leads out of the tree or to nothing, or an entry is a submodule or a device. A seed that is such an entry is Stalled. Elsewhere it is a warning, and nothing that the entry may hold is removed.", "Commit the files themselves, or link to one in the same tree."},
		{ReasonUnknownCluster, "The named cluster is not declared.", "Use one of the names in the message, or declare the cluster."},
		{ReasonNoClusterMatches, "No cluster has the labels that `furrow.dev/cluster-selector`, `spec.clusterSelector` or a wave selects.", "Label a cluster, or change the selector."},
		{ReasonNoWorkloadCluster, "Only management clusters are declared, or none.", "Declare a `Cluster`."},
		{ReasonNoManagementCluster, "The object belongs on a management cluster, and none is declared.", "Declare one with `spec.role: Management`, or annotate the object."},
		{ReasonManagementClusterAmbiguous, "The object belongs on a management cluster, and there are several; Furrow does not guess.", "Set `spec.managementCluster` of the Seed."},
		{ReasonInvalidPlacement, "An annotation or field that says where an object goes is not valid.", "Correct it."},
		{ReasonConflictingPlacement, "Several annotations say where one object goes.", "Keep one."},
		{ReasonNoPlacement, "No placement rule matches the object.", "Set the annotation `furrow.dev/cluster`."},
		{ReasonMixedNamespace, "A warning: nothing names a Secret, and its Namespace has objects on management and workload clusters, so it goes to both.", "Set the annotation `furrow.dev/role` or `furrow.dev/cluster`."},
		{ReasonDuplicateCluster, "Two documents declare, or two objects create, the same cluster.", "Keep one, or rename one."},
		{ReasonCreatorMissing, "A seed describes a cluster that no object of it creates.", "Add the creator, or declare the cluster outside the seed."},
		{ReasonCreatorAmbiguous, "A creator is placed on several clusters; it goes to one management cluster.", "Name one in `furrow.dev/cluster`."},
		{ReasonCreatorCycle, "What a creator needs to work is placed on the cluster that the creator makes, and not where the creator is; or only on a cluster that in turn waits for that one, also of another seed.", "Place it on the creator's management cluster, or list what is installed there in `spec.provides` of that Cluster."},
		{ReasonNamespaceAbsent, "The object goes to a cluster that a seed creates, and no seed contains its Namespace for that cluster.", "Add the Namespace; or annotate what is for the cluster's creator with `furrow.dev/role: Management`; or list what the new cluster has by itself in `spec.provides.namespaces` of its Cluster document."},
		{ReasonInvalidHub, "`spec.reconciledBy` forms a cycle, or names a cluster without its own reconciler.", "Remove it from the cluster whose own reconciler acts for the others."},
		{ReasonUnknownClusterType, "The named cluster type is not declared.", "Declare the `ClusterType`, or correct the name."},
		{ReasonUnknownTemplate, "The named template is not declared, or has another type.", "Declare the `Template`, or correct the name."},
		{ReasonUnknownRolloutPolicy, "The named rollout policy is not declared, or is broken.", "Declare or correct the `RolloutPolicy`, or correct the name."},
		{ReasonUnknownRepository, "A GitOps repository is named that is not declared: it was renamed or removed, or never existed.", "Declare it, even if something planted there must be removed; or correct the name."},
		{ReasonRepositoryAmbiguous, "A cluster names no GitOps repository, and there are several.", "Set `spec.gitOpsRepo` of the cluster or of its type."},
		{ReasonRepositoryMismatch, "A cluster behind a hub names a different repository than its hub.", "Leave `spec.gitOpsRepo` empty."},
		{ReasonPathConflict, "Two clusters have one root path, as when a cluster is renamed and keeps its `spec.path`.", "Give each a `spec.path` of its own."},
		{ReasonKubeConfigNotGranted, "The kubeconfig of a cluster is in a namespace that is neither its creator's nor granted.", "Correct `kubeConfigSecret`, or [grant the namespace](clusters.md)."},
		{ReasonInvalidDependency, "An annotation that declares a dependency has the wrong form, or names its own object.", "Correct it; each [dialect](rules.md#dependencies-that-you-declare) has its own form."},
		{ReasonMissingDependency, "No seed has something that an object needs. A warning for a Namespace or a CustomResourceDefinition; an error with `--strict`, for an annotation, and while a seed that may have it is broken or removed.", "Add it, list it in `spec.provides` of the Cluster, or correct the annotation."},
		{ReasonWebhookBeforeBackend, "A webhook configuration that is on a cluster already matches what the workload behind the webhook needs itself, so nothing can be first while that workload does not run.", "Exclude these objects from the webhook, or remove the configuration from the cluster until the seed is released. Nothing is wrong if the workload runs there already."},
		{ReasonDependencyLeaving, "An object that stays needs something that would be removed: a Namespace, a CustomResourceDefinition, a creator, or what an annotation names.", "Keep it, or remove both."},
		{ReasonReadinessDeadlock, "A warning: an object needs something to become ready that waits for the object itself, such as a Secret whose operator a webhook of the object guards. Its tier is never Released.", "What the message says."},
		{ReasonDependencyCycle, "Dependencies form a cycle; the message lists every edge with its rule.", "Remove one of the edges: an annotation, or a rule with `spec.disabledRules`."},
		{ReasonTierPinned, "A new dependency contradicts the tier of a planted object that cannot move: it is encrypted without the annotation `kustomize.toolkit.fluxcd.io/prune: disabled`, or the document of its cluster cannot be used.", "Undo the change; release the annotation first, or correct the document."},
		{ReasonUnknownRule, "`spec.disabledRules` has a name that is not a dependency rule.", "Use one of those in the message."},
		{ReasonBrokenSeed, "The seed depends on another one that cannot be planned.", "Correct that seed first."},
		{ReasonObjectConflict, "Two seeds want the same object on one cluster. The one that has it planted goes on, and the other one is held; where neither has, both are. Equal objects of kinds that packages share, such as CustomResourceDefinitions, are planted by one of them.", "Keep it in one of them, or place them on different clusters."},
		{ReasonNamespaceConflict, "Two seeds have the same Namespace with different content. The one that has it planted goes on.", "Write the same labels and annotations in both, or keep it in one."},
		{ReasonObjectShared, "An object that seeds share, such as a Namespace or a CustomResourceDefinition, leaves one of them, and another one has it on the same cluster, of this control plane or of another one in the repository. The removal waits until the reconciler keeps the object.", "Restore the object, merge the proposal that marks it as not to be pruned, and remove it again."},
		{ReasonHandedOver, "A warning: an object goes from one seed to another, or its seed was renamed. It is annotated first, then it leaves the one seed and is planted by the other, and is not deleted in between.", "Merge the proposals of both seeds; see [move an object to another seed](tasks.md#move-an-object-to-another-seed)."},
		{ReasonStillPlanted, "An encrypted object moved from one seed to another, or its seed was renamed, and the first seed still has it on the cluster. Nothing can be added to it, so it cannot be annotated to stay there.", "Annotate it with `kustomize.toolkit.fluxcd.io/prune: disabled` in the first seed before encrypting it, and move it when that is released. Or wait until it is removed."},
		{ReasonClusterMoved, "A cluster has another path, repository or hub; moving what is planted there would delete it.", "Undo the change, or remove the seed from the cluster first."},
		{ReasonClusterKept, "A warning: the document of a cluster, or one that it names, is broken, so the cluster stays as last planned.", "Correct the document in the message."},
		{ReasonClusterUndeclared, "A warning of `furrow lint`: a seed is planted on a cluster, and no document declares that cluster any more. The deletion guard holds what would be removed there.", "Restore the document; or run `furrow confirm`, and `furrow abandon` if the cluster is gone for good."},
		{ReasonPruneNotDisabled, "A warning: the object must never be pruned, but it is encrypted, so the annotation cannot be added.", "Add the annotation in the message yourself."},
		{ReasonKeptOnCluster, "A warning: an annotation, of Helm, Argo CD, kapp, cli-utils or Flux, keeps the object on its cluster when it leaves the seed. The reconciler gets an annotation to the same effect.", "Delete the object there yourself when it is no longer needed."},
		{ReasonUpdateRefused, "A warning: an API server refuses the change, because it changes a field that nobody can change, such as the template of a Job, or because a rule of a CustomResourceDefinition does not allow it. The reconciler cannot apply the tier then, and nothing behind it goes on.", "Give the object a new name, or restore the field. Or annotate it with `furrow.dev/recreate: allow`: the reconciler then deletes it and creates it again."},
		{ReasonInvalidTemplate, "A Template does not render what it must.", "Correct it; see [templates](reference.md#templates)."},
		{ReasonTemplateBudget, "A Template exceeds the limits on steps, memory or output.", "Make it simpler; see [templates](reference.md#templates)."},
		{ReasonInvalidPlan, "The plan branch has no plan that this version can read.", "Move the branch back to its last good commit, or use the version of Furrow that wrote it."},
		{ReasonPlanTooLarge, "The plan of the seed is larger than what Furrow reads of one, so it is not written.", "Split the seed."},
		{ReasonPlanNotVerified, "The plan on a plan branch is not one that this control plane makes: somebody else has written it. It is not used, and the seed is planned anew from what is on the base branch.", "Find out who pushed the commit that the message names, and let only Furrow push to `furrow/**`."},
		{ReasonControlPlaneBehind, "The clone that is read is behind: a newer commit of the control plane was planned last, by another run. Going on would roll clusters back, so nothing is done. The status names the process that wrote last, and this one.", "Update the clone (`git pull`), or stop this run. To go back on purpose, revert the commit; `--take-over` replaces the newer plans, once."},
		{ReasonControlPlaneUnrelated, "A commit was planned last that is not in the history of the one that is read, or that the clone does not have; or another run reads a clone with commits that were not pushed. Nothing is done.", "Fetch and merge what is missing (`git fetch --unshallow` in a shallow clone), or push it; `--take-over` replaces the plans, once."},
		{ReasonControlPlaneMoved, "A warning: the plan was made from an older or unrelated commit than the one before it. The branch of the control plane was moved by force, or a person used `--take-over`.", "Nothing, if that was meant. Otherwise push the lost commits again."},
		{ReasonForeignOwner, "The plan or the status belongs to another control plane with a seed of this name; or this one was moved, renamed, or has another `--id` or `--environment`.", "Use the `--id` and `--environment` in the message; after a move, [adopt the plans](tasks.md#move-the-control-plane); if the origin is the same, restore the `ControlPlane` document; otherwise rename the seed."},
		{ReasonOwnerUnknown, "The plans have another owner, and a file that may be the `ControlPlane` document cannot be read, so Furrow does nothing.", "Correct the file, or commit the document again."},
		{ReasonInvalidOwner, "The control-plane id or the environment cannot be part of a branch name.", "Use a [`ControlPlane` document](reference.md#controlplane) with a valid name, or `--id`."},
	}},
	{"A repository cannot be used", "", []ReasonInfo{
		{ReasonSourceFailed, "The control-plane repository cannot be read; what was read last stays in force.", "The message names the server, the branch or the path."},
		{ReasonControlPlaneEmpty, "The control plane has no Furrow document and no seed. Furrow refuses to treat that as a deletion.", "Commit at least a `GitOpsRepo` and the clusters, or correct `--path` or `--branch`."},
		{ReasonNoRepository, "No GitOps repository is declared. Nothing is removed meanwhile.", "Add a `GitOpsRepo` document with `spec.url`."},
		{ReasonRepositoryUnavailable, "The server of a repository does not answer, fails, or asked to wait.", "Nothing: Furrow tries again, with growing pauses, and honours Retry-After."},
		{ReasonRateLimited, "The forge allows no more requests for a while, or asked to wait. Proposals that are not open yet wait for that; what was merged goes on.", "Nothing: it goes on at the time in the message. If that happens often, give Furrow [credentials of its own](forges.md#errors-of-a-forge)."},
		{ReasonRepositoryNotFound, "The repository does not exist, or the credentials have no access to it.", "Correct the URL or the credentials; for a directory, run `git init --bare`."},
		{ReasonRepositoryBroken, "A GitOps repository that the seed needs cannot be used, for another problem that is listed.", "Correct that one."},
		{ReasonBranchNotFound, "The repository has no such branch or commit. Furrow does not create the base branch.", "Make a first commit on it, or correct `spec.branch`, `--branch` or `spec.source.revision`."},
		{ReasonPathNotFound, "`--path`, or `spec.source.path` of a Seed resource, names a directory that is not in the repository.", "Correct it."},
		{ReasonInvalidURL, "The URL has an unsupported form, such as a query or an ambiguous path.", "Use the `https://` or SSH URL that the server shows, or a directory."},
		{ReasonURLNotAllowed, "The URL is a directory while the control plane is on a server, or sends credentials in plain text.", "Use `https://`; in a trusted network `--allow-http`."},
		{ReasonCredentialsInURL, "The URL has credentials in it.", "Remove them, and make a set of [credentials](reference.md#credentials)."},
		{ReasonCredentialsMissing, "The credentials that a document names do not exist.", "Add them to the directory of `--credentials`, or create the Secret in the Seed's namespace."},
		{ReasonCredentialsNotBound, "The credentials have no `url` that says where they may be sent, or are for another one.", "Add or correct their [`url`](reference.md#credentials), or make another set."},
		{ReasonCredentialsRefused, "The server does not accept the credentials, or does not allow this.", "Renew the token, or give it the permissions that [the forge](forges.md) needs."},
		{ReasonSigningKeyMissing, "`spec.signing` of the `GitOpsRepo` asks for signed commits, and there is no key to sign with.", "Add `signing.key` to the set of credentials, or set `spec.signing.create: IfMissing` for `furrow controller`. See [signed commits](signing.md)."},
		{ReasonSigningKeyUnusable, "A key cannot sign, or a public key cannot be read: it has expired, has a passphrase that is not given, or is of another kind.", "Replace it by an SSH key of type ed25519 or an armored OpenPGP key. See [signed commits](signing.md#replace-a-key)."},
		{ReasonNotSigned, "A commit or a request on one of Furrow's branches is not signed with a key that counts, so Furrow does not use it.", "Find out who pushed it. Sign requests with `--sign-with`. See [signed commits](signing.md#requests)."},
		{ReasonCommitNotVerified, "The newest commit of the control plane is not signed by a key of `spec.verify`; the last verified one stays in force.", "Have it signed by one of them, or merge it by the forge where that is allowed. See [verified control planes](signing.md#only-plan-what-is-signed)."},
		{ReasonCertificateUntrusted, "The certificate of the server is not trusted.", "Give the CA bundle that signed it."},
		{ReasonBranchRefused, "A rule of the server refuses a branch, such as protected names or a hook.", "Allow `furrow/**` for Furrow's user."},
		{ReasonForgeRefused, "The forge refused a request.", "See [errors of a forge](forges.md#errors-of-a-forge)."},
		{ReasonTooLargeToRead, "A file of a GitOps repository, or what lies below a cluster's root, exceeds what Furrow reads, in size or in number of files.", "Make it smaller, or move what is not Furrow's elsewhere; the message names the file and the limit."},
		{ReasonRepositoryFailed, "Git, or its server, failed, and no other reason fits.", "The message quotes the error."},
		{ReasonCommitNotFound, "The repository does not have a commit that was asked for, for example after a force-push.", "Fetch again, or correct the revision."},
		{ReasonCacheUnusable, "The directory of the cache holds something else, or is damaged.", "Delete it; it is filled again."},
		{ReasonRaced, "Somebody else was faster.", "Nothing: the state is observed again."},
		{ReasonSimulationRefused, "A simulation never writes to a repository that may be in use.", "Use an empty repository."},
		{ReasonNoStatus, "No pass of this control plane has written a status, or the last one is old because the run ended.", "Start `furrow run`; in a clone of another name [name the control plane](reference.md#controlplane), or give `--id`."},
		{ReasonUnsupportedVersion, "Another version of Furrow wrote the plan or the status, with what this one does not know.", "Use that version of Furrow, or a newer one."},
	}},
	{"A Seed resource cannot be planted", "Problems of custom resources, as [the controller](controller.md) reports them in `waitingFor` of a Seed and in conditions. Repository, branch and path of a Seed cannot be changed. To replace one that has planted something, set `spec.deletionPolicy: Orphan`, delete it, and apply the new one: if repository, branch and path are the same, it continues with what is planted; otherwise [adopt the plans](tasks.md#move-the-control-plane).", []ReasonInfo{
		{ReasonSeedNotFound, "The tree has no package of the Seed's name at the revision in the message.", "Commit it below `seeds/`, or replace the Seed by one with the right name, branch and path."},
		{ReasonDuplicate, "A Seed of another namespace names the same repository, branch and path, and is older.", "Delete one. If it is the older one, its `spec.deletionPolicy` counts."},
		{ReasonGitRepositoryMissing, "`spec.source.gitRepositoryRef` names a GitRepository that does not exist in the Seed's namespace, or Flux is not installed.", "Create it, or replace the Seed by one with `spec.source.url`."},
		{ReasonGitRepositoryUnfit, "The GitRepository follows no branch, or verifies signatures in a mode or with keys that Furrow cannot use.", "Change it, or replace the Seed by one with `spec.source.url`."},
		{ReasonPlanLost, "No declared GitOps repository has the plan of the seed.", "Declare the repository again under its name; or set `spec.deletionPolicy: Orphan`, which leaves what is planted."},
		{ReasonOverridden, "The control-plane tree declares the same name differently, and takes precedence.", "Change the tree, or delete the resource."},
		{ReasonUnused, "The document is valid, and no Seed uses it.", "Nothing."},
		{ReasonUnreachable, "The server of a repository does not answer, or refuses access.", "The message says what failed."},
		{ReasonOrphaned, "A deleted Seed has left what it planted.", "Nothing; the files stay in Git."},
		{ReasonRemoving, "What is planted is being removed.", "Review the proposals that remove it."},
		{ReasonProgressing, "There is more to do, and it is under way.", "Nothing."},
		{ReasonSucceeded, "The condition is met.", "Nothing."},
	}},
	{"A tier does not move", "What holds a tier before it is merged.", []ReasonInfo{
		{ReasonWaitingForTier, "A prerequisite is not Released at its entries of the current plan. Do not merge an open proposal; its [gate](forges.md#the-gate) opens again by itself.", "[Find out why it waits](tasks.md#find-out-why-a-tier-waits)."},
		{ReasonWaitingForRemoval, "Another tier must leave first.", "Review the proposals that remove it."},
		{ReasonWaitingForMove, "Objects of a prerequisite's cluster [move to other tiers](concepts.md#when-an-object-has-to-move) first; what it waits for comes with the third release of the move.", "Review the proposals of the move."},
		{ReasonMovePending, "An object moves to another tier. The reconciler has not yet applied the annotation here that keeps it from being deleted.", "Nothing; it goes on by itself once that is applied."},
		{ReasonMoveUnprotected, "An object has moved to another tier. The base branch also has it in its former tier, as after a revert, and without the annotation that keeps it from being deleted.", "Add the annotation in that file, or revert what brought the object back."},
		{ReasonNeededBySeed, "Another seed still needs the tier that is to leave.", "Remove what needs it, or wait until it has left."},
		{ReasonProposing, "The tier is about to be proposed.", "Nothing."},
		{ReasonRolloutPaused, "A person paused the rollout: nothing is proposed or updated. Do not merge an open proposal.", "`furrow rollout resume`."},
		{ReasonWaitingForWave, "An [earlier wave](tasks.md#roll-out-in-waves) of the rollout is not done.", "Review its proposals, or find out why its clusters are not ready."},
		{ReasonWaveFailed, "A cluster of an earlier wave has failed, so the rollout stops there.", "Correct the seed, or revert its commit; `furrow rollout skip` goes on without that wave."},
		{ReasonWaveDeadlock, "Waves of one seed or of several wait for each other, because their tiers do.", "Change the order of the waves in one of the rollouts that the message names, or `furrow rollout skip` one of the waves."},
		{ReasonWaveSoaking, "An earlier wave is done, and has to stay so for its `soak`.", "Wait, or `furrow rollout skip`."},
		{ReasonWindowClosed, "The windows of the tier's wave are closed: nothing is proposed or updated. Do not merge an open proposal.", "Wait until the message says, or correct the windows."},
		{ReasonMaxUnavailable, "As many clusters of the wave are under way as `maxUnavailable` allows: their proposals are open, or they are not ready with what was merged.", "Merge the open proposals, and find out why clusters are not ready."},
		{ReasonMaxOpenProposals, "As many proposals of the seed are open in the repository as `maxOpenProposals` allows.", "Merge or close some of them."},
		{ReasonAutoMergeIgnored, "A warning: a seed has `autoMerge: WhenGreen`, and one of its GitOps repositories is plain Git, which has no checks: nothing is merged there by Furrow.", "Merge with `furrow pr merge`, or name the forge in the repository's `spec.forge`."},
		{ReasonAutoMerging, "The gate of the proposal is open and its checks have passed, so Furrow merges it, as `autoMerge` says.", "Nothing."},
		{ReasonWaitingForChecks, "Furrow merges the proposal once its checks have passed, at least one besides the gate.", "Wait, or merge it."},
		{ReasonChecksFailed, "A check of the proposal has failed, so Furrow does not merge it.", "Correct the seed, run the check again, or merge it."},
		{ReasonMergeQueued, "The merge queue or merge train of the forge has the proposal.", "Wait: the forge merges it, or removes it and says why."},
		{ReasonChecksUnknown, "Furrow cannot read the checks of the proposal, or it is a draft, so a person merges it.", "What the message says, or merge it."},
		{ReasonBranchesUnprotected, "The forge lets everybody with write access push to `furrow/**`, and commits are not signed. Furrow compares what is there with the plan, and does not merge by itself. It is a warning of the GitOpsRepo.", "Set [`spec.signing`](signing.md), or [restrict](security.md#who-may-push-furrow) who may push to these branches."},
		{ReasonBaseTakesSignedOnly, "A warning: the base branch of the GitOpsRepo takes only signed commits, and Furrow's are not signed, so its proposals cannot be merged.", "Set [`spec.signing`](signing.md), and add the public key to the account whose token Furrow uses."},
		{ReasonSuspended, "`spec.suspend` is set: nothing is proposed or updated. Do not merge a proposal of an earlier plan.", "Set it to false."},
		{ReasonProposalOpen, "The proposal waits to be merged.", "Review it."},
		{ReasonRemovalOpen, "The proposal removes the tier, and waits to be merged.", "Review it. If nobody deleted the seed, another control plane may own it: do not merge, stop one of the two, and run `furrow adopt` with the other."},
		{ReasonOrphanOpen, "The proposal waits to be merged. The cluster was abandoned, so its objects are orphaned before the hub removes the tier.", "Merge it. If the cluster is back, run `furrow abandon … --undo` instead."},
		{ReasonProposalOutdated, "The open proposal carries an earlier plan and is being updated.", "Nothing."},
		{ReasonProposalStale, "The base branch has changed under the proposal, or was moved back by force; merging it would undo that.", "Wait for the next pass."},
		{ReasonEditedByPerson, "A person edited the proposal, so Furrow does not change it.", "Merge it, which makes the tier [Amended](forges.md#editing-a-proposal-amended); or delete its branch. On a forge the tier is then Rejected until `furrow retry`."},
		{ReasonEditedOnPlainGit, "A person edited the proposal. On plain Git the tier is Held once that is merged.", "Make the change in the seed and delete the branch; it is proposed again."},
		{ReasonEditedAndOutdated, "A person edited the proposal, and the plan changed since.", "Merge it, or delete its branch to have it proposed again."},
		{ReasonEditedAndUnmergeable, "A person edited the proposal, the plan changed since, and it has a conflict.", "Delete its branch to have it proposed again."},
		{ReasonEditedAndRejected, "A person edited the proposal and rejected it, and the plan changed since. Furrow does not overwrite what people committed.", "Delete its branch to have the changed tier proposed."},
		{ReasonEditedAndStale, "A person edited the proposal, and the base branch changed under it. Merging would undo that change.", "Rebase it onto the base branch, or delete its branch."},
		{ReasonProposalDiffers, "The branch of a proposal holds what no plan of Furrow has, although its commit may say that it is Furrow's. Furrow neither updates nor merges it.", "Find out who pushed the commit, and delete the branch. On a forge the tier is then Rejected until `furrow retry`."},
		{ReasonProposalTooWide, "Merging the proposal would also change files of others.", "Remove them from the branch, or delete the branch."},
		{ReasonHeldByMember, "The proposal carries another tier that must not be merged now; the message names it.", "Resolve what the message names. If a person edited the proposal, delete its branch to have the other tiers proposed again."},
		{ReasonWaitingForProposal, "A person edited the open proposal of the tier's group, so the tier does not join it.", "Merge that proposal, or delete its branch."},
		{ReasonManyProposals, "More than twenty proposals of the seed wait for a person.", "Set `spec.rollout.groupBy` of the Seed to have tiers [proposed together](concepts.md#proposals-of-several-tiers)."},
		{ReasonProposalIncomplete, "A warning: the forge refuses a label, reviewer, assignee or milestone that proposals should have. Everything else goes on.", "Do what the message says. Furrow tries again every ten minutes, and as soon as the GitOpsRepo changes."},
		{ReasonRejected, "A person rejected the proposal, or deleted the branch of a pull request.", "Change the seed, or run `furrow retry`."},
		{ReasonReverted, "The tier was merged, and the base branch no longer has it. On plain Git, a removal that was merged by squash looks the same.", "Change the seed, or run `furrow retry`; see [roll back](tasks.md#roll-back)."},
		{ReasonForeignContent, "The base branch has files at the tier's paths that are not Furrow's; on plain Git also an edited proposal that was merged. Where somebody deleted Furrow's plan branches, its own earlier content counts as such, too.", "Remove them, change the seed to the same content, or run `furrow retry` to replace them."},
		{ReasonDeletionGuard, "A removal is blocked until a person confirms it: it exceeds `deletionGuard` (20 % of all plantings, and at least three), or deletes a creator, Namespace, CustomResourceDefinition or PersistentVolumeClaim.", "Run `furrow confirm`, or restore what was removed."},
		{ReasonSeedRenamed, "A removal is blocked until a person confirms it: a seed is gone, and a new one has its objects, but cannot be planned, or came when the removal had begun.", "Correct the new seed, or restore the name; or run `furrow confirm` for the old one, which deletes its objects first."},
		{ReasonMovedToSeed, "An object moved from one seed to another. The removal from the first is blocked, because the base branch lacks the annotation by which the reconciler keeps the object.", "Restore the object in the first seed with the annotation `kustomize.toolkit.fluxcd.io/prune: disabled`. When that is released, move the object with the annotation. Or run `furrow confirm` for the first seed, which deletes the object first."},
		{ReasonRemovalOnHold, "Removals are on hold because the seed cannot be planned, or because what declares it cannot be read.", "Correct what the message of the seed names."},
		{ReasonRootMissing, "No Kustomization on the cluster syncs the root path, or Git has no such directory.", "Set the root up; [what Furrow checks of a root](clusters.md#what-furrow-checks-of-a-root)."},
		{ReasonRootTooWide, "The root syncs a directory above the cluster's own, so it would apply what is for other clusters.", "Set its `spec.path`."},
		{ReasonRootDoesNotPrune, "The root has `spec.prune: false`, so removed objects would stay on the cluster.", "Set it to true."},
		{ReasonRootWaits, "The root has `spec.wait: true`, so one unhealthy tier blocks the others.", "Set it to false."},
		{ReasonRootSuspended, "The root is suspended.", "Resume it, as the message says."},
		{ReasonRootSourceSuspended, "The source of the root is suspended.", "Resume it, as the message says."},
		{ReasonRootSourceMissing, "The source of the root does not exist.", "Create it."},
		{ReasonRootSourceMismatch, "The root reads no GitRepository, or another one than the tiers would.", "Correct the root, or `spec.source` of the cluster's `ClusterType`."},
		{ReasonRootRepositoryMismatch, "The source of the root reads another repository than the one that proposals go to.", "Correct one of the two."},
		{ReasonRootBranchMismatch, "The source of the root follows another branch than the one that proposals go to.", "Correct `spec.ref.branch`, or `spec.branch` of the `GitOpsRepo`."},
		{ReasonRootSourceFailed, "The source of the root cannot fetch.", "Correct its `spec.url`, `spec.ref` or `spec.secretRef`."},
		{ReasonRootFailed, "One object or file stops the whole root; the message is Flux's.", "Correct it. For `namespaces \"…\" not found` on a rebuilt cluster, [create the namespace](clusters.md#rebuilding-a-cluster-from-git-alone)."},
		{ReasonRootUnbuildable, "A file in the root's directory stops the root, or hides files from it.", "Correct the file that the message names; [what Furrow checks of a root](clusters.md#what-furrow-checks-of-a-root)."},
		{ReasonRootVerification, "The GitRepository of the root verifies signatures, and would refuse what is merged: by its mode, its keys, or how the forge merges. Or the roots of a repository accept no way to merge in common.", "The message says what to change. See [Flux and signatures](signing.md#flux)."},
		{ReasonRootRefusesMethod, "A warning: the repository allows a way to merge that leaves a signature which the GitRepository of a root refuses. Furrow merges by another one.", "Do not allow it. See [Flux](signing.md#flux)."},
		{ReasonRootIgnores, "A pattern keeps Flux from reading a file of the tier.", "Remove the pattern, or add an exception for the path after it."},
		{ReasonRootUnknown, "The cluster does not answer, so it is unknown whether it has a root.", "As for a [silent cluster](#a-cluster-cannot-be-asked)."},
	}},
	{"Merged that stays", "The content is on the base branch, and the cluster does not run it yet. The message names the first missing step. A state with *(Amended)* is not a problem: a person changed the proposal before merging it, and the cluster runs that. Make the change in the seed as well, or the next update takes it back.", []ReasonInfo{
		{ReasonReconcilerMissing, "The root has not synced the merge yet; the message says what is wrong with the root.", "Wait for the root's source, or [reconcile it now](health.md#reconcile-now)."},
		{ReasonReconcilerOutdated, "The live reconciler object is not the one in Git: the root has not synced, or somebody changed the object.", "Wait: the root undoes the change when it reconciles."},
		{ReasonReconcilerSuspended, "The Kustomization of the tier is suspended. Flux would leave its objects if it were removed.", "`flux resume kustomization`, as the message says."},
		{ReasonReconcilerDeleting, "The reconciler object is being deleted.", "Wait; check for finalizers."},
		{ReasonReconcilerEdited, "A person changed the reconciler object on the base branch: it waits for nothing, or has another path or cluster.", "Correct the file on the base branch, or run `furrow retry`."},
		{ReasonNotFetched, "The reconciler has not fetched anything yet.", "`flux get sources git` on the cluster."},
		{ReasonRevisionBehind, "The reconciler works on an earlier commit, or waits for an earlier tier (`DependencyNotReady`).", "Wait, up to 30 s for each earlier tier; [settings that help](health.md#settings-of-flux-that-help)."},
		{ReasonRevisionUnknown, "The reconciler reports a revision that the repository does not have: it reads another one, or a force-push removed the commit.", "Wait for the next commit that it fetches; otherwise correct the root's source."},
		{ReasonNoChannel, "No health channel is set up.", "Start `furrow run` with [`--kubeconfigs`](clusters.md#kubeconfigs-for-furrow-run)."},
		{ReasonStillPresent, "The reconciler object of a removed tier still exists: the root has not synced since, or Git dropped its empty directory.", "Wait; keep a file in each root's directory."},
		{ReasonRootGone, "It is unknown whether the tier is gone, because the cluster has no root: it may be another cluster or a new one.", "Correct the kubeconfig, or set the root up again."},
		{ReasonOrphanPending, "The cluster was abandoned, and its hub has not applied the *Orphan* change yet.", "See the rest of the message."},
	}},
	{"Progressing or Failed", "", []ReasonInfo{
		{ReasonNotReady, "The tier is applied, and its objects are not ready yet.", "Wait, or check the objects that the message lists; then [reconcile](health.md#reconcile-now)."},
		{ReasonBuildFailed, "The reconciler cannot build the tier.", "Correct the seed; the message is Flux's."},
		{ReasonApplyFailed, "The reconciler cannot apply the tier, or reach the cluster.", "Correct the seed or the cluster. For `unable to read KubeConfig secret`, create the Secret on the [hub](clusters.md#clusters-behind-a-hub)."},
		{ReasonPruneFailed, "The reconciler cannot delete what left.", "Check the message, and the finalizers of the objects."},
		{ReasonArtifactFailed, "The source has no such path, or cannot be read.", "Correct the source of the root."},
		{ReasonHealthCheckFailed, "An object reports that it failed.", "Check the object on the cluster."},
		{ReasonInvalidExpression, "A Template has an expression that cannot be read, or two for one kind.", "Correct it: [your own kinds](health.md#your-own-kinds)."},
		{ReasonAccessDenied, "The hub's kustomize-controller runs with `--no-cross-namespace-refs`.", "Allow them on hubs."},
		{ReasonFeatureDisabled, "The reconciler needs a feature gate that is off.", "Enable it on the cluster."},
		{ReasonCreatorNotThere, "The creator does not exist on its management cluster yet.", "Wait, or check the tier that has it."},
		{ReasonClusterBeingCreated, "The creator is not current; the message says what is missing.", "Check the creator on the management cluster."},
		{ReasonAPIServerSilent, "The kubeconfig Secret of the new cluster does not exist yet, or the API server does not answer.", "Wait; then as for a [silent cluster](#a-cluster-cannot-be-asked)."},
		{ReasonPruning, "The reconciler deletes what it applied.", "If it stays, check for objects that are Terminating. For a cluster that is gone for good: [`furrow abandon`](clusters.md#a-cluster-is-gone-for-good)."},
		{ReasonCreatorDeleting, "The creator is still being deleted: the provider takes the cluster down.", "Wait; check the creator."},
		{ReasonHealthy, "The cluster runs exactly what was merged, and is healthy.", "Nothing."},
		{ReasonGone, "Nothing of the tier is left.", "Nothing."},
		{ReasonGivenUp, "The cluster was abandoned, so the tier counts as gone.", "Nothing."},
	}},
	{"A cluster cannot be asked", "What a cluster reported before does not count while it is silent: its tiers are Merged, nothing behind them is proposed, and nothing is reverted.", []ReasonInfo{
		{ReasonKubeConfigMissing, "The cluster has no kubeconfig, or `--kubeconfigs` is not set.", "[Make one](clusters.md#making-one); or merge the tier with the creator, whose Secret is not read before."},
		{ReasonKubeConfigInvalid, "The kubeconfig is broken, has no current context, or the Secret has no key with one.", "Correct it; the key is `value`."},
		{ReasonKubeConfigRefused, "A kubeconfig from a Secret must not name files or run programs.", "Put certificates, keys or a token inline."},
		{ReasonAccessForbidden, "The API server does not allow what Furrow needs, such as `get` of a Secret or of `/readyz`.", "Give the kubeconfig's user the [permissions](clusters.md#what-the-kubeconfig-has-to-permit); for `/readyz` the ClusterRole `system:public-info-viewer`."},
		{ReasonKindMissing, "The API server does not know the kinds of the reconciler.", "Install Flux, or wait for it."},
		{ReasonClusterNotReady, "The API server answers, but `/readyz` reports that it is not ready.", "Check the API server, on its machine."},
		{ReasonClusterSilent, "The cluster does not answer.", "Check the network, the address and the API server. If it is gone for good and blocks a removal, [`furrow abandon`](clusters.md#a-cluster-is-gone-for-good)."},
		{ReasonCreatorSilent, "The management cluster does not answer for the creator, so the state of the new cluster is unknown.", "As for a silent cluster; for `… is forbidden`, grant `get` of the creator's kind on the [management cluster](clusters.md#what-the-kubeconfig-has-to-permit)."},
		{ReasonClusterAbandoned, "The cluster was abandoned, but something on it stays.", "Remove the cluster from the control plane, or run `furrow abandon … --undo`."},
	}},
	{"A request is refused", "Reasons that requests return. If nothing happens long after `furrow retry`, `furrow confirm` or `furrow abandon`, no run of this owner is active, or the seed was planned again since: start `furrow run`, and repeat the request.", []ReasonInfo{
		{ReasonInvalidArgument, "A command has wrong arguments.", "Run it with `--help`."},
		{ReasonUnknownSeed, "No seed, or no plan of a seed, has that name.", "`furrow status` lists them."},
		{ReasonUnknownObject, "No plan has an object of that name.", "Use one of the names in the message."},
		{ReasonUnknownProposal, "No proposal has that name: it was merged or withdrawn meanwhile, or never existed.", "Use one of those in the message."},
		{ReasonProposalChanged, "The proposal has changed or is gone: somebody was faster.", "`furrow pr list`."},
		{ReasonProposalConflict, "The base branch changed under the proposal, so it cannot be merged.", "Wait for the next pass and review it again; if a person edited it, rebase it or delete its branch."},
		{ReasonNotAProposal, "The branch is not a proposal of Furrow.", "Merge, move or delete it with git."},
		{ReasonGateShut, "Do not merge the proposal now: its [gate](forges.md#the-gate) failed in the last pass.", "Wait until it is Open, or use `furrow pr merge --force`."},
		{ReasonMergeRefused, "A rule or hook of the forge refuses the merge.", "Do what the rule asks for: an approval, a status check, another user."},
		{ReasonNotConfirmed, "The request would delete or replace files of people, or leave something running, and was not confirmed.", "Add `--yes` if that is meant."},
		{ReasonNothingToDo, "The last pass found nothing that the request applies to.", "If that has changed since, ask again after the next pass."},
		{ReasonRequestFailed, "The controller could not carry out the request.", "The message says why."},
		{ReasonTimedOut, "The controller has not acted on the request yet.", "`kubectl furrow status` shows whether a pass runs."},
		{ReasonInternal, "A failure that Furrow has no name for.", "Please report it, with the message."},
	}},
}
