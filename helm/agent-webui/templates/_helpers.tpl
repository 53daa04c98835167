{{- define "agent-webui.name" -}}
{{- if contains "agent-webui" .Release.Name }}{{ .Release.Name | trunc 48 | trimSuffix "-" }}{{ else }}{{ printf "%s-agent-webui" (.Release.Name | trunc 36 | trimSuffix "-") }}{{ end }}
{{- end }}

{{/* The cell of whoever the proxy does not name. */}}
{{- define "agent-webui.firstCell" -}}
{{- with first .Values.cells }}{{ .cell | default .name }}{{ end }}
{{- end }}

{{- define "agent-webui.selector" -}}
app.kubernetes.io/name: agent-webui
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "agent-webui.labels" -}}
{{ include "agent-webui.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version }}
{{- end }}

{{- define "agent-webui.image" -}}
{{ printf "%s:%s" (required "image.repository: build the image from the Dockerfile and push it to a registry of yours" .Values.image.repository) (.Values.image.tag | default .Chart.AppVersion) | quote }}
{{- end }}

{{/* Of both kinds of pods: any user but root, no right of the kernel, no file of the image written. */}}
{{- define "agent-webui.podSecurity" -}}
runAsNonRoot: true
runAsUser: 65532
runAsGroup: 65532
fsGroup: 65532
fsGroupChangePolicy: OnRootMismatch
seccompProfile:
  type: RuntimeDefault
{{- end }}

{{- define "agent-webui.containerSecurity" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities:
  drop: [ALL]
{{- end }}

{{- define "agent-webui.placement" -}}
{{- with .Values.imagePullSecrets }}
imagePullSecrets:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.nodeSelector }}
nodeSelector:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.tolerations }}
tolerations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}

{{/* Apart from each other, where there are several machines. */}}
{{- define "agent-webui.apart" -}}
podAntiAffinity:
  preferredDuringSchedulingIgnoredDuringExecution:
    - weight: 100
      podAffinityTerm:
        topologyKey: kubernetes.io/hostname
        labelSelector:
          matchLabels:
            {{- include "agent-webui.selector" .root | nindent 12 }}
            app.kubernetes.io/component: {{ .component }}
{{- end }}
