// SPDX-License-Identifier: Apache-2.0

// Renders deploy/helm with Go's text/template, which is Helm's own engine, and those of Helm's functions that the chart
// uses. Debian has no helm. JSON on stdin: {"Values": {}, "Release": {}, "templates": {name: text}, "files": {path: text}}; YAML
// on stdout.
package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"os"
	"sort"
	"strconv"
	"strings"
	"text/template"
)

type input struct {
	Values    map[string]any
	Release   map[string]any
	Templates map[string]string `json:"templates"`
	Files     files             `json:"files"`
}

// Helm's .Files: those of the chart that are no templates, by their path in it.
type files map[string]string

func (f files) Get(path string) (string, error) {
	text, ok := f[path]
	if !ok {
		return "", fmt.Errorf("no file %s in the chart", path)
	}
	return text, nil
}

func check(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func asJSON(value any) (string, error) {
	text, err := json.Marshal(value)
	return string(text), err
}

func main() {
	var in input
	check(json.NewDecoder(os.Stdin).Decode(&in))
	all := template.New("chart").Option("missingkey=error")
	all.Funcs(template.FuncMap{
		"quote":     func(value any) string { return strconv.Quote(fmt.Sprint(value)) },
		"replace":   func(old, new, text string) string { return strings.ReplaceAll(text, old, new) },
		"sha256sum": func(text string) string { return fmt.Sprintf("%x", sha256.Sum256([]byte(text))) },
		"nindent": func(spaces int, text string) string {
			pad := "\n" + strings.Repeat(" ", spaces)
			return pad + strings.ReplaceAll(text, "\n", pad)
		},
		"toYaml": asJSON, // JSON is YAML too
		"toJson": asJSON,
		"include": func(name string, data any) (string, error) {
			var out bytes.Buffer
			err := all.ExecuteTemplate(&out, name, data)
			return out.String(), err
		},
	})
	var names []string
	for name, text := range in.Templates {
		_, err := all.New(name).Parse(text)
		check(err)
		names = append(names, name)
	}
	sort.Strings(names)
	data := map[string]any{"Values": in.Values, "Release": in.Release, "Files": in.Files}
	for _, name := range names {
		if strings.HasPrefix(name, "_") {
			continue
		}
		fmt.Println("---")
		check(all.ExecuteTemplate(os.Stdout, name, data))
	}
}
