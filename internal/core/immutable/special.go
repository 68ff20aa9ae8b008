package immutable

import (
	"encoding/base64"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/furrow-dev/furrow/internal/core/leaves"
	"github.com/furrow-dev/furrow/internal/core/manifest"
)

// walk calls found for each leaf that differs for a server.
func walk(path string, was, is any, found func(at string, was, is any)) {
	leaves.Walk(path, was, is, func(at string, was, is any) {
		if isEmpty(was) && isEmpty(is) || isOff(at, was) && isOff(at, is) || sameQuantity(at, was, is) {
			return
		}
		found(at, was, is)
	})
}

// switches are off where they are absent. Other fields of a Pod have three states.
var switches = []string{"hostNetwork", "hostPID", "hostIPC", "readOnly", "stdin", "stdinOnce", "tty"}

// isOff reports whether a switch is off.
func isOff(at string, value any) bool {
	return (value == nil || value == false) && slices.Contains(switches, at[strings.LastIndex(at, ".")+1:])
}

// isEmpty reports whether a server takes a value for an absent one.
func isEmpty(value any) bool {
	switch v := value.(type) {
	case nil:
		return true
	case string:
		return v == ""
	case []any:
		return len(v) == 0
	case map[string]any:
		for _, below := range v {
			if below != nil {
				return false
			}
		}
		return true
	}
	return false
}

// quantities are the fields whose values are quantities, by the last parts of their paths.
var quantities = []string{".requests", ".limits", ".capacity", ".overhead"}

func sameQuantity(at string, was, is any) bool {
	in := at
	if cut := strings.LastIndexAny(at, ".["); cut > 0 {
		in = at[:cut]
	}
	if !strings.HasSuffix(at, ".sizeLimit") && !slices.ContainsFunc(quantities, func(of string) bool { return strings.HasSuffix(in, of) }) {
		return false
	}
	order, ok := compareQuantities(was, is)
	return ok && order == 0
}

// compareQuantities orders two quantities; ok is false where one of them is none.
func compareQuantities(was, is any) (order int, ok bool) {
	if was == nil || is == nil {
		return 0, false
	}
	a, err := resource.ParseQuantity(fmt.Sprint(was))
	b, err2 := resource.ParseQuantity(fmt.Sprint(is))
	return a.Cmp(b), err == nil && err2 == nil
}

// claim refuses all changes of a PersistentVolumeClaim but a greater volume. The name of its volume
// and its class may be set once.
func claim(u *update) {
	fixedBelow("spec", "resources.requests", "volumeName", "storageClassName", "volumeMode", "volumeAttributesClassName", "dataSource", "dataSourceRef")(u)
	onceSet("spec.volumeName")(u)
	if was, is := u.fields("spec.storageClassName"); was != nil && was != is { // "" is a class, too
		u.refuse("spec.storageClassName", "")
	}
	fixedWithDefault("spec.volumeMode", "Filesystem")(u)
	const storage = "spec.resources.requests.storage"
	was, is := u.fields(storage)
	if order, ok := compareQuantities(was, is); ok && order > 0 {
		u.refuse(storage, "a claim does not get smaller")
	}
	// A server writes each of the two into the other one.
	source := func(o manifest.Object) any {
		if ref := o.Map("spec", "dataSourceRef"); ref != nil {
			return ref
		}
		from, _ := o.Field("spec", "dataSource")
		return from
	}
	walk("spec.dataSource", source(u.was), source(u.is), func(at string, _, _ any) { u.refuse(at, "") })
}

// claimTemplates compares the templates of a StatefulSet's claims. A server fills in what they are.
func claimTemplates(u *update) {
	of := func(o manifest.Object) any {
		templates, _ := runtime.DeepCopyJSONValue(o.Slice("spec", "volumeClaimTemplates")).([]any)
		for i := range templates {
			template, ok := templates[i].(map[string]any)
			if !ok {
				continue
			}
			delete(template, "apiVersion")
			delete(template, "kind")
			delete(template, "status")
			if metadata, ok := template["metadata"].(map[string]any); ok {
				delete(metadata, "creationTimestamp")
			}
			if spec, ok := template["spec"].(map[string]any); ok && spec["volumeMode"] == nil {
				spec["volumeMode"] = "Filesystem"
			}
		}
		return templates
	}
	walk("spec.volumeClaimTemplates", of(u.was), of(u.is), func(at string, _, _ any) { u.refuse(at, "") })
}

// roleRef compares the role of a binding, whose group need not be written.
func roleRef(u *update) {
	of := func(o manifest.Object) map[string]any {
		ref := map[string]any{"apiGroup": "rbac.authorization.k8s.io"}
		for key, value := range o.Map("roleRef") {
			if !isEmpty(value) {
				ref[key] = value
			}
		}
		return ref
	}
	walk("roleRef", of(u.was), of(u.is), func(at string, _, _ any) { u.refuse(at, "") })
}

// jobTemplate compares the template of a Job. While a Job is suspended, where its Pods run and what
// they are labelled with may change.
func jobTemplate(u *update) {
	const template = "spec.template"
	suspended, _ := u.was.Field("spec", "suspend")
	may := []string{"metadata.labels", "metadata.annotations", "spec.nodeSelector", "spec.tolerations", "spec.schedulingGates", "spec.affinity.nodeAffinity"}
	of := func(o manifest.Object) any {
		pods := copyOf(o.Map("spec", "template"))
		if spec, ok := pods["spec"].(map[string]any); ok {
			fillPod(spec)
		}
		return pods
	}
	walk(template, of(u.was), of(u.is), func(at string, _, _ any) {
		if suspended == true && (strings.Contains(at, ".resources") || slices.ContainsFunc(may, func(field string) bool { return leaves.Within(at, template+"."+field) })) {
			return
		}
		u.refuse(at, "")
	})
}

// copyOf returns a mapping that may be changed.
func copyOf(m map[string]any) map[string]any {
	if m == nil {
		return map[string]any{}
	}
	return runtime.DeepCopyJSON(m)
}

// completions of a Job change only where they are indexed, and together with its parallelism.
func completions(u *update) {
	of := func(o manifest.Object) (completions, parallelism any) {
		completions, _ = o.Field("spec", "completions")
		parallelism, _ = o.Field("spec", "parallelism")
		if completions == nil && parallelism == nil {
			completions = int64(1)
		}
		if parallelism == nil {
			parallelism = int64(1)
		}
		return completions, parallelism
	}
	was, _ := of(u.was)
	is, parallelism := of(u.is)
	if was == is || u.is.Text("spec", "completionMode") == "Indexed" && is == parallelism {
		return
	}
	u.refuse("spec.completions", "")
}

// pod refuses all changes of a Pod but other images, more tolerations, fewer scheduling gates and an
// earlier deadline. Where a Pod that is held by a gate runs may still change.
func pod(u *update) {
	of := func(o manifest.Object) map[string]any {
		spec := copyOf(o.Map("spec"))
		fillPod(spec)
		return spec
	}
	was, is := of(u.was), of(u.is)
	gated := len(u.was.Slice("spec", "schedulingGates")) > 0
	for _, field := range []struct {
		name       string
		more, less []any
	}{
		{"tolerations", u.is.Slice("spec", "tolerations"), u.was.Slice("spec", "tolerations")},
		{"schedulingGates", u.was.Slice("spec", "schedulingGates"), u.is.Slice("spec", "schedulingGates")},
	} {
		if !subset(field.less, field.more) {
			u.refuse("spec."+field.name, "")
		}
		delete(was, field.name)
		delete(is, field.name)
	}
	walk("spec", was, is, func(at string, before, after any) {
		switch {
		case strings.HasSuffix(at, "].image") && (strings.HasPrefix(at, "spec.containers[") || strings.HasPrefix(at, "spec.initContainers[")):
		case strings.HasSuffix(at, "].imagePullPolicy") && !written(u.was, u.is, at): // it follows the image
		case at == "spec.activeDeadlineSeconds" && after != nil && (before == nil || less(after, before)):
		case gated && (leaves.Within(at, "spec.nodeSelector") || leaves.Within(at, "spec.affinity.nodeAffinity")):
		default:
			u.refuse(at, "")
		}
	})
}

// written reports whether either form of a Pod says when images are pulled.
func written(was, is manifest.Object, at string) bool {
	found := false
	leaves.Walk("spec", was.Map("spec"), is.Map("spec"), func(path string, _, _ any) { found = found || path == at })
	return found
}

func less(a, b any) bool {
	order, ok := compareQuantities(a, b)
	return ok && order < 0
}

// subset reports whether a list has all items of another one.
func subset(of, all []any) bool {
	for _, one := range of {
		if !slices.ContainsFunc(all, func(other any) bool {
			same := true
			walk("", one, other, func(string, any, any) { same = false })
			return same
		}) {
			return false
		}
	}
	return true
}

// service compares the addresses of a Service. What a server chose stays where nothing is written.
func service(u *update) {
	wasType, isType := u.texts("spec.type")
	if isType == "LoadBalancer" && wasType == isType {
		fixed("spec.loadBalancerClass")(u)
		if was, is := u.texts("spec.externalTrafficPolicy"); was == "Local" && is == was {
			keptWhereAbsent(u, "spec.healthCheckNodePort")
		}
	}
	if wasType == "ExternalName" || isType == "ExternalName" {
		return
	}
	wasHeadless, isHeadless := headless(u.was), headless(u.is)
	if !wasHeadless || !isHeadless {
		was, is := firstAddress(u.was), firstAddress(u.is)
		if is != "" && is != was {
			u.refuse("spec.clusterIP", "")
		}
	}
	was, is := u.was.Slice("spec", "ipFamilies"), u.is.Slice("spec", "ipFamilies")
	if wasHeadless || isHeadless || len(was) == 0 || len(is) == 0 {
		return
	}
	for i := range min(len(was), len(is)) {
		if was[i] != is[i] {
			u.refuse("spec.ipFamilies", "")
			return
		}
	}
	if len(is) < len(was) && u.is.Text("spec", "ipFamilyPolicy") != "SingleStack" {
		u.refuse("spec.ipFamilies", "the second family goes only with ipFamilyPolicy: SingleStack")
	}
}

// keptWhereAbsent refuses another value of a field that a server keeps where nothing is written.
func keptWhereAbsent(u *update, path string) {
	if was, is := u.fields(path); !isEmpty(is) && was != is {
		u.refuse(path, "")
	}
}

func headless(o manifest.Object) bool { return firstAddress(o) == "None" }

// firstAddress returns the address of a Service, from whichever field has it.
func firstAddress(o manifest.Object) string {
	if address := o.Text("spec", "clusterIP"); address != "" {
		return address
	}
	if all := o.Slice("spec", "clusterIPs"); len(all) > 0 {
		first, _ := all[0].(string)
		return first
	}
	return ""
}

// quotaScopes compares the scopes of a ResourceQuota, in any order.
func quotaScopes(u *update) {
	was, is := u.was.Slice("spec", "scopes"), u.is.Slice("spec", "scopes")
	if !subset(was, is) || !subset(is, was) {
		u.refuse("spec.scopes", "")
	}
}

// serviceCIDRs may only get a second one.
func serviceCIDRs(u *update) {
	was, is := u.was.Slice("spec", "cidrs"), u.is.Slice("spec", "cidrs")
	if len(was) == 1 && len(is) == 2 {
		is = is[:1]
	}
	if !slices.Equal(was, is) {
		u.refuse("spec.cidrs", "")
	}
}

// dataOf returns the data of a Secret as a server stores it.
func dataOf(o manifest.Object) map[string]any {
	out := map[string]any{}
	for key, value := range o.Map("data") {
		out[key] = value
		if text, ok := value.(string); ok {
			if data, err := base64.StdEncoding.DecodeString(text); err == nil {
				out[key] = string(data)
			}
		}
	}
	for key, value := range o.Map("stringData") {
		out[key] = value
	}
	return out
}
