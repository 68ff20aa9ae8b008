package manifest

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"
)

// nameRules are those of the kinds whose names Kubernetes does not validate as DNS
// subdomains, as it does those of all its other kinds and of custom resources; from
// pkg/apis/*/validation of Kubernetes 1.36. Where versions differ, the widest counts.
var nameRules = map[GroupKind]func(name string) (fault string){
	{"", "Namespace"}:       labelFault,
	{"", "Service"}:         labelFault, // its first character may be a digit since 1.36
	{"apps", "StatefulSet"}: labelFault, // a subdomain before 1.27, with which no Pod could be created
	{"batch", "CronJob"}:    func(name string) string { return lengthFault(name, 52) },

	{"", "Event"}: anyFault,
	{"certificates.k8s.io", "ClusterTrustBundle"}:        anyFault,
	{"certificates.k8s.io", "CertificateSigningRequest"}: anyFault,
	{"networking.k8s.io", "IPAddress"}:                   anyFault,
}

// pathGroups are the API groups whose names are segments of a path, and no more:
// RBAC's, aggregated ones, and those of OpenShift's own API server.
var pathGroups = map[string]bool{
	"rbac.authorization.k8s.io": true, "apiregistration.k8s.io": true, "internal.apiserver.k8s.io": true, "events.k8s.io": true,
	"authorization.openshift.io": true, "image.openshift.io": true, "oauth.openshift.io": true, "user.openshift.io": true,
}

// kindNameFault returns why an API server refuses a name for an object of a kind, or "".
// The body is needed for kinds whose names follow from their content.
func kindNameFault(kind GroupKind, name string, body map[string]any) string {
	if fault := nameFault(name); fault != "" {
		return fault
	}
	if given := givenName(kind, body); given != "" && name != given {
		return fmt.Sprintf("%s is not %s, which its spec makes it", shorten(name), shorten(given))
	}
	if rule, ok := nameRules[kind]; ok {
		return rule(name)
	}
	if pathGroups[kind.Group] {
		return ""
	}
	if manual, _ := (Object{Body: body}).Field("spec", "manualSelector"); kind == (GroupKind{"batch", "Job"}) && manual != true {
		return lengthFault(name, maxLabel) // it becomes the value of a label
	}
	return subdomainFault(name)
}

func anyFault(string) string { return "" }

// labelFault returns what keeps a name from being a DNS label (RFC 1123), or "".
func labelFault(name string) string {
	switch {
	case len(name) > maxLabel:
		return fmt.Sprintf("%s has %d characters, and a DNS label has at most %d", shorten(name), len(name), maxLabel)
	case len(validation.IsDNS1123Label(name)) > 0:
		return shorten(name) + " is not a valid DNS label (lower case letters, digits and '-', and no '-' at its ends)"
	}
	return ""
}

// subdomainFault returns what keeps a name from being a DNS subdomain (RFC 1123), or "".
func subdomainFault(name string) string {
	switch {
	case len(name) > maxName:
		return fmt.Sprintf("%s has %d characters, and a DNS subdomain has at most %d", shorten(name), len(name), maxName)
	case len(validation.IsDNS1123Subdomain(name)) > 0:
		return shorten(name) + " is not a valid DNS subdomain (lower case letters, digits, '-' and '.', and a letter or digit at the ends of each part)"
	}
	return ""
}

// lengthFault is for subdomains that must be shorter than others.
func lengthFault(name string, most int) string {
	if fault := subdomainFault(name); fault != "" || len(name) <= most {
		return fault
	}
	return fmt.Sprintf("%s has %d characters, and the name of this kind has at most %d", shorten(name), len(name), most)
}

// givenName returns the only name that an API server takes for an object of a kind that is named
// after its content; "" for all others, and where the content is not there.
func givenName(kind GroupKind, body map[string]any) string {
	o := Object{Body: body}
	first, second := "", ""
	switch kind {
	case GroupKind{"apiextensions.k8s.io", "CustomResourceDefinition"}:
		first, second = o.Text("spec", "names", "plural"), o.Text("spec", "group")
	case GroupKind{"apiregistration.k8s.io", "APIService"}:
		first, second = o.Text("spec", "version"), o.Text("spec", "group")
		if first != "" && second == "" {
			return first + "."
		}
	}
	if first == "" || second == "" {
		return ""
	}
	return first + "." + second
}

// keyFault returns why something cannot be the key of a label or an annotation.
func keyFault(key string) string {
	// Upper case is allowed in the prefix of an annotation, not of a label; this takes it for both.
	if len(validation.IsQualifiedName(strings.ToLower(key))) > 0 {
		return fmt.Sprintf("%s is not a valid key (at most %d letters, digits, '-', '_' and '.', optionally after a DNS prefix and '/')", shorten(key), maxLabel)
	}
	return ""
}

// valueFault returns why something cannot be the value of a label.
func valueFault(value string) string {
	if len(validation.IsValidLabelValue(value)) > 0 {
		return fmt.Sprintf("is not a valid label value (at most %d letters, digits, '-', '_' and '.', and a letter or digit at its ends)", maxLabel)
	}
	return ""
}
