// Small line drawings, all on a grid of 20.

import type { JSX } from "preact";

const PATHS = {
  move: "M5 3l10 8-4.6.6L13 17l-2 .9-2.4-5.3L5 15.5z",
  arrow: "M3 10h12m-4-4.2L15.4 10 11 14.2",
  hidden: "M3.5 14.5C4.5 5 15.5 5 16.5 14.5M1.8 11.8l1.7 3 2.6-2.2m12.1-.8l-1.7 3-2.6-2.2",
  ask: "M7.2 7.3a2.9 2.9 0 1 1 4.4 2.5c-1 .6-1.6 1.2-1.6 2.4M10 15.4v.2",
  plus: "M10 4v12M4 10h12",
  undo: "M7.5 4.5L4 8l3.5 3.5M4.5 8H12a4 4 0 0 1 0 8H8",
  redo: "M12.5 4.5L16 8l-3.5 3.5M15.5 8H8a4 4 0 0 0 0 8h4",
  layout: "M3 4h4v4H3zM13 4h4v4h-4zM13 12h4v4h-4zM7 6h6M10 6v8h3",
  fit: "M3 7V3h4M13 3h4v4M17 13v4h-4M7 17H3v-4",
  zoomIn: "M9 3.5a5.5 5.5 0 1 1 0 11 5.5 5.5 0 0 1 0-11zM13 13l4 4M9 6.5v5M6.5 9h5",
  zoomOut: "M9 3.5a5.5 5.5 0 1 1 0 11 5.5 5.5 0 0 1 0-11zM13 13l4 4M6.5 9h5",
  close: "M5 5l10 10M15 5L5 15",
  down: "M5.5 8l4.5 4.5L14.5 8",
  file: "M5 2.5h6.5L15.5 6.5v11h-10.5zM11.5 2.5v4h4",
  take: "M10 3v9M6.4 8.6L10 12.2l3.6-3.6M4 16.5h12",
  sun: "M10 6.6a3.4 3.4 0 1 1 0 6.8 3.4 3.4 0 0 1 0-6.8zM10 2v1.8M10 16.2V18M2 10h1.8M16.2 10H18M4.4 4.4l1.2 1.2M14.4 14.4l1.2 1.2M4.4 15.6l1.2-1.2M14.4 5.6l1.2-1.2",
  moon: "M15.8 12.2A6.4 6.4 0 0 1 7.8 4.2 6.4 6.4 0 1 0 15.8 12.2z",
  keyboard: "M2.5 5.5h15v9h-15zM5.5 8.5h.1M8.5 8.5h.1M11.5 8.5h.1M14.5 8.5h.1M6.5 11.8h7",
  stop: "M6 6h8v8H6z",
  trash: "M4 6h12M8 6V4h4v2M6 6l.7 10.5h6.6L14 6",
  list: "M7.5 5.5H17M7.5 10H17M7.5 14.5H17M3.5 5.5h.1M3.5 10h.1M3.5 14.5h.1",
} as const;

export type IconName = keyof typeof PATHS;

export function Icon({ name }: { name: IconName }): JSX.Element {
  return (
    <svg class="icon" viewBox="0 0 20 20" width="20" height="20" aria-hidden="true" focusable="false">
      <path d={PATHS[name]} fill="none" stroke="currentColor" stroke-width="1.6" stroke-linecap="round" stroke-linejoin="round" />
    </svg>
  );
}

interface Props {
  icon: IconName;
  label: string;
  keys?: string;
  pressed?: boolean;
  disabled?: boolean;
  onClick: () => void;
}

/** A button that is a picture; its name is read out and shown on hovering. */
export function IconButton({ icon, label, keys, pressed, disabled, onClick }: Props): JSX.Element {
  const title = keys === undefined ? label : `${label} (${keys})`;
  return (
    <button type="button" class="tool" title={title} aria-label={label} aria-pressed={pressed} disabled={disabled} onClick={onClick}>
      <Icon name={icon} />
    </button>
  );
}
