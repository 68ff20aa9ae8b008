package immutable

import "strings"

// fillPod writes into the spec of a Pod what a server fills in: a written default is not a change.
func fillPod(spec map[string]any) {
	setDefaults(spec, map[string]any{
		"dnsPolicy": "ClusterFirst", "restartPolicy": "Always", "terminationGracePeriodSeconds": int64(30),
		"schedulerName": "default-scheduler", "enableServiceLinks": true,
	})
	if account := spec["serviceAccountName"]; account == nil && spec["serviceAccount"] != nil {
		spec["serviceAccountName"] = spec["serviceAccount"]
	}
	delete(spec, "serviceAccount")
	for _, list := range []string{"containers", "initContainers"} {
		for _, container := range mappings(spec[list]) {
			fillContainer(container)
		}
	}
	for _, volume := range mappings(spec["volumes"]) {
		fillVolume(volume)
	}
}

func fillContainer(c map[string]any) {
	setDefaults(c, map[string]any{"imagePullPolicy": pullPolicy(c["image"]), "terminationMessagePath": "/dev/termination-log", "terminationMessagePolicy": "File"})
	for _, port := range mappings(c["ports"]) {
		setDefaults(port, map[string]any{"protocol": "TCP"})
	}
	for _, name := range []string{"livenessProbe", "readinessProbe", "startupProbe"} {
		probe, ok := c[name].(map[string]any)
		if !ok {
			continue
		}
		setDefaults(probe, map[string]any{"initialDelaySeconds": int64(0), "timeoutSeconds": int64(1), "periodSeconds": int64(10), "successThreshold": int64(1), "failureThreshold": int64(3)})
		if get, ok := probe["httpGet"].(map[string]any); ok {
			setDefaults(get, map[string]any{"path": "/", "scheme": "HTTP"})
		}
	}
	for _, variable := range mappings(c["env"]) {
		from, _ := variable["valueFrom"].(map[string]any)
		if ref, ok := from["fieldRef"].(map[string]any); ok {
			setDefaults(ref, map[string]any{"apiVersion": "v1"})
		}
	}
}

// pullPolicy returns when an image is pulled where nothing says it: always if it has the tag latest,
// or neither tag nor digest.
func pullPolicy(value any) string {
	image, _ := value.(string)
	name := image[strings.LastIndex(image, "/")+1:]
	if !strings.Contains(name, "@") && (!strings.Contains(name, ":") || strings.HasSuffix(name, ":latest")) {
		return "Always"
	}
	return "IfNotPresent"
}

func fillVolume(v map[string]any) {
	for _, name := range []string{"secret", "configMap", "downwardAPI", "projected"} {
		if source, ok := v[name].(map[string]any); ok {
			setDefaults(source, map[string]any{"defaultMode": int64(0o644)})
		}
	}
	if len(v) == 1 { // a name alone
		v["emptyDir"] = map[string]any{}
	}
	if empty, there := v["emptyDir"]; there && isEmpty(empty) {
		v["emptyDir"] = "{}" // an empty one is not an absent one
	}
}

// setDefaults writes values where there are none.
func setDefaults(of, values map[string]any) {
	for key, value := range values {
		if isEmpty(of[key]) && of[key] != false {
			of[key] = value
		}
	}
}

// mappings returns the mappings of a list.
func mappings(value any) []map[string]any {
	list, _ := value.([]any)
	var out []map[string]any
	for _, item := range list {
		if m, ok := item.(map[string]any); ok {
			out = append(out, m)
		}
	}
	return out
}
