// SPDX-License-Identifier: Apache-2.0
// "?a=1&b=2" of what has a value, "" of nothing.
export function queryText(query) {
  const text = new URLSearchParams(Object.entries(query || {}).filter(([, value]) => value)).toString();
  return text ? `?${text}` : '';
}

export async function get(path, query) {
  const response = await fetch(`/api/v1/${path}${queryText(query)}`);
  const json = await response.json().catch(() => ({ error: `no JSON came (status ${response.status})` }));
  if (!response.ok) throw new Error(json.error || `status ${response.status}`);
  return json;
}

export const incidentPath = (id) => `/i/${encodeURIComponent(id)}`;
export const apiPath = (id) => `incidents/${encodeURIComponent(id)}`;
