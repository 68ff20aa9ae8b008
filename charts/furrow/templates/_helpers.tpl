{{/* The name of objects: furrow, for a release named furrow. */}}
{{- define "furrow.fullname" -}}
{{- $name := default .Chart.Name .Values.nameOverride -}}
{{- if .Values.fullnameOverride -}}
{{- .Values.fullnameOverride | trunc 40 | trimSuffix "-" -}}
{{- else if contains $name .Release.Name -}}
{{- .Release.Name | trunc 40 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-%s" .Release.Name $name | trunc 40 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}

{{/* The selector of the pods. It must never change: a Deployment's selector is immutable. */}}
{{- define "furrow.selector" -}}
app.kubernetes.io/name: {{ default .Chart.Name .Values.nameOverride }}
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/component: controller
{{- end -}}

{{/* The labels of all objects. Values cannot override the chart's own labels. */}}
{{- define "furrow.labels" -}}
{{- $ours := include "furrow.selector" . | fromYaml -}}
{{- $_ := set $ours "app.kubernetes.io/version" .Chart.AppVersion -}}
{{- $_ := set $ours "app.kubernetes.io/part-of" "furrow" -}}
{{- $_ := set $ours "app.kubernetes.io/managed-by" .Release.Service -}}
{{- $_ := set $ours "helm.sh/chart" (printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_") -}}
{{- merge $ours .Values.labels | toYaml -}}
{{- end -}}

{{/* The labels of the pods: without versions, so that a new chart alone does not restart them. */}}
{{- define "furrow.podLabels" -}}
{{- $ours := include "furrow.selector" . | fromYaml -}}
{{- merge $ours .Values.podLabels .Values.labels | toYaml -}}
{{- end -}}

{{/* The generated rules of a role. */}}
{{- define "furrow.rules" -}}
{{- .Files.Get (printf "files/rules/furrow-%s.yaml" .role) | fromYamlArray | toYaml -}}
{{- end -}}

{{- define "furrow.serviceAccount" -}}
{{- default (printf "%s-controller" (include "furrow.fullname" .)) .Values.serviceAccount.name -}}
{{- end -}}

{{- define "furrow.image" -}}
{{- if .Values.image.digest -}}
{{- printf "%s@%s" .Values.image.repository .Values.image.digest -}}
{{- else -}}
{{- printf "%s:%s" .Values.image.repository (default .Chart.AppVersion .Values.image.tag) -}}
{{- end -}}
{{- end -}}

{{/* The watched namespace; empty for all. */}}
{{- define "furrow.watched" -}}
{{- if .Values.namespaced -}}
{{- default .Release.Namespace .Values.watchNamespace -}}
{{- end -}}
{{- end -}}
