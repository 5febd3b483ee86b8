// SPDX-License-Identifier: Apache-2.0
// Figures as people read them.

const UNITS = ['B', 'KiB', 'MiB', 'GiB', 'TiB', 'PiB'];

// Three digits: "256 MiB", "1.50 GiB".
export function bytes(value) {
  if (value === null || value === undefined) return '–';
  const sign = value < 0 ? '-' : '';
  let rest = Math.abs(value), unit = 0;
  while (rest >= 1023.5 && unit < UNITS.length - 1) {
    rest /= 1024;
    ++unit;
  }
  const digits = unit === 0 || rest >= 99.95 ? 0 : rest >= 9.995 ? 1 : 2;
  return `${sign}${rest.toFixed(digits)} ${UNITS[unit]}`;
}

export const amount = (value, unit) => (unit === 'bytes' ? bytes(value) : value.toLocaleString('en'));
export const percent = (ratio) => (ratio === null || ratio === undefined ? '–' : `${(ratio * 100).toFixed(ratio < 0.1 ? 1 : 0)} %`);

export function duration(seconds) {
  if (seconds === null || seconds === undefined) return '–';
  if (seconds < 1) return `${Math.round(seconds * 1000)} ms`;
  if (seconds < 90) return `${seconds < 10 ? seconds.toFixed(1) : Math.round(seconds)} s`;
  if (seconds < 5400) return `${Math.round(seconds / 60)} min`;
  if (seconds < 129600) return `${Math.round(seconds / 3600)} h`;
  return `${Math.round(seconds / 86400)} days`;
}


// As the command line's age_text(): what is 4.9 days old is "4 d ago" in both.
export function age(time) {
  const seconds = Math.max(0, Math.floor((Date.now() - Date.parse(time)) / 1000));
  if (seconds < 5) return 'just now';
  if (seconds < 120) return `${seconds} s ago`;
  if (seconds < 7200) return `${Math.floor(seconds / 60)} min ago`;
  if (seconds < 172800) return `${Math.floor(seconds / 3600)} h ago`;
  return `${Math.floor(seconds / 86400)} d ago`;
}

export const second = (time) => `${String(time).slice(0, 19).replace('T', ' ')} UTC`;
export const words = (name) => (name ? String(name).replaceAll('_', ' ') : 'not known');
