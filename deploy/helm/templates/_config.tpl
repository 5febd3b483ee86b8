{{- /* SPDX-License-Identifier: Apache-2.0 */ -}}
{{- /* For ever: a DaemonSet's selector cannot be changed. */ -}}
{{- define "oomwitness.selector" -}}
app.kubernetes.io/name: oomwitness
app.kubernetes.io/part-of: oomwitness
{{- end -}}
{{- define "oomwitness.labels" -}}
{{ include "oomwitness.selector" . }}
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
{{- end -}}
{{- /* Further keys of one table. JSON's scalars and lists are TOML's. */ -}}
{{- define "oomwitness.settings" }}
{{- range $key, $value := . }}
{{ $key }} = {{ toJson $value }}
{{- end }}
{{- end }}
{{- define "oomwitness.config" -}}
# For the kubelet's probes and Prometheus; the NetworkPolicy says who may connect.
metrics_listen = ":9435"
# The container's own /sys/fs/cgroup shows it only itself.
cgroup_root = "/host/sys/fs/cgroup"
# Below it the container runtimes' bundles, for the names of containers.
host_root = "/host"
{{- if .Values.podEvents }}

[kubernetes]
post_events = true
{{- end }}
{{- if .Values.clusterName }}

[sinks]
cluster_name = {{ .Values.clusterName | quote }}
{{- end }}
{{- with .Values.sinks.otlp }}{{ if .endpoint }}

[sinks.otlp]
endpoint = {{ .endpoint | quote }}
{{- if .headersSecret }}
headers_file = "/etc/oomwitness-secrets/otlp/headers"
{{- end }}
{{- if .caConfigMap }}
ca_file = "/etc/oomwitness-ca/otlp/ca.crt"
{{- end }}
{{- include "oomwitness.settings" .settings }}
metrics = {{ .metrics }}
profiles = {{ .profiles }}
{{- end }}{{ end }}
{{- with .Values.sinks.webhook }}{{ if .url }}

[sinks.webhook]
url = {{ .url | quote }}
cloud_events = {{ .cloudEvents }}
{{- if .headersSecret }}
headers_file = "/etc/oomwitness-secrets/webhook/headers"
{{- end }}
{{- if .caConfigMap }}
ca_file = "/etc/oomwitness-ca/webhook/ca.crt"
{{- end }}
{{- include "oomwitness.settings" .settings }}{{ end }}{{ end }}
{{- with .Values.sinks.file }}{{ if .path }}

[sinks.file]
path = {{ .path | quote }}
{{- include "oomwitness.settings" .settings }}
{{- end }}{{ end }}
{{- with .Values.sinks.s3 }}{{ if .bucket }}

[sinks.s3]
bucket = {{ .bucket | quote }}
endpoint = {{ .endpoint | quote }}
region = {{ .region | quote }}
prefix = {{ .prefix | quote }}
{{- if .credentialsSecret }}
credentials_file = "/etc/oomwitness-secrets/s3/credentials"
{{- end }}
{{- if .caConfigMap }}
ca_file = "/etc/oomwitness-ca/s3/ca.crt"
{{- end }}
{{- include "oomwitness.settings" .settings }}{{ end }}{{ end }}
{{- with .Values.sinks.pyroscope }}{{ if .url }}

[sinks.pyroscope]
url = {{ .url | quote }}
parca = {{ .parca }}
{{- if .headersSecret }}
headers_file = "/etc/oomwitness-secrets/pyroscope/headers"
{{- end }}
{{- if .caConfigMap }}
ca_file = "/etc/oomwitness-ca/pyroscope/ca.crt"
{{- end }}
{{- include "oomwitness.settings" .settings }}{{ end }}{{ end }}
{{- if .Values.extraConfig }}

{{ .Values.extraConfig }}
{{- end }}
{{ end -}}
