/** Icon set: 24-unit paths with a 1.5 px stroke in the current text color. */
import { signal } from '@preact/signals'
import { firstContent } from './first-content.ts'
import type { morePaths } from './more-icons.ts'

/** What a page shows at first. Each entry is the `d` of one path; circles and rounded boxes are drawn as arcs. */
const paths = {
  chat: 'M5 5h14v10.500h-7.500l-4 3.500v-3.500H5z',
  menu: 'M4 6.5h16M4 12h16M4 17.5h16',
  plus: 'M12 5v14M5 12h14',
  filter: 'M4 7h16M7 12h10M10 17h4',
  search: 'M11 4.5a6.5 6.5 0 1 0 0 13a6.5 6.5 0 1 0 0-13M15.8 15.8 20 20',
  archive: 'M4 5h16v4H4zM5.5 9v10h13V9M10 13h4',
  edit: 'M4.5 19.5l.9-4L15.9 5a1.9 1.9 0 0 1 2.7 0l.4.4a1.9 1.9 0 0 1 0 2.7L8.5 18.6z M14 7l3 3',
  more: 'M4.9 12a.6.6 0 1 0 1.2 0a.6.6 0 1 0-1.2 0M11.4 12a.6.6 0 1 0 1.2 0a.6.6 0 1 0-1.2 0M17.9 12a.6.6 0 1 0 1.2 0a.6.6 0 1 0-1.2 0',
  send: 'M12 19.5V5M6 11l6-6 6 6',
  stop: 'M8 6.5h8A1.5 1.5 0 0 1 17.5 8v8a1.5 1.5 0 0 1-1.5 1.5H8A1.5 1.5 0 0 1 6.5 16V8A1.5 1.5 0 0 1 8 6.5z',
  close: 'M6 6l12 12M18 6 6 18',
  check: 'M5 12.5l4.5 4.5L19 7.5',
  'chevron-down': 'M6.5 9.5 12 15l5.5-5.5',
  'chevron-right': 'M9.5 6.5 15 12l-5.5 5.5',
  'chevron-up': 'M6.5 14.5 12 9l5.5 5.5',
  copy: 'M10.5 9h7A1.5 1.5 0 0 1 19 10.5v8a1.5 1.5 0 0 1-1.5 1.5h-7A1.5 1.5 0 0 1 9 18.5v-8A1.5 1.5 0 0 1 10.5 9zM6.5 15H6a1.5 1.5 0 0 1-1.5-1.5v-8A1.5 1.5 0 0 1 6 4h7a1.5 1.5 0 0 1 1.5 1.5V6',
  settings:
    'M4 7.5h9M17.5 7.5H20M15.25 5.25a2.25 2.25 0 1 0 0 4.5a2.25 2.25 0 1 0 0-4.5M4 16.5h2.5M11 16.5h9M8.75 14.25a2.25 2.25 0 1 0 0 4.5a2.25 2.25 0 1 0 0-4.5',
  model: 'M12 3.5l7.4 4.25v8.5L12 20.5l-7.4-4.25v-8.5zM4.6 7.75 12 12l7.4-4.25M12 12v8.5',
  folder:
    'M3.5 7A1.5 1.5 0 0 1 5 5.5h4l2 2.5h8A1.5 1.5 0 0 1 20.5 9.5V17a1.5 1.5 0 0 1-1.5 1.5H5A1.5 1.5 0 0 1 3.5 17z',
  file: 'M13.5 3.5H7A1.5 1.5 0 0 0 5.5 5v14A1.5 1.5 0 0 0 7 20.5h10a1.5 1.5 0 0 0 1.5-1.5V8.5zM13.5 3.5v5h5',
  terminal:
    'M5 4.5h14A1.5 1.5 0 0 1 20.5 6v12a1.5 1.5 0 0 1-1.5 1.5H5A1.5 1.5 0 0 1 3.5 18V6A1.5 1.5 0 0 1 5 4.5zM7.5 9l3 3-3 3M12.5 15h4',
  brain:
    'M12 5.5A2.8 2.8 0 0 0 6.7 6.9 3.2 3.2 0 0 0 5 12a3.3 3.3 0 0 0 1.7 5.2A2.8 2.8 0 0 0 12 18.5zM12 5.5a2.8 2.8 0 0 1 5.3 1.4A3.2 3.2 0 0 1 19 12a3.3 3.3 0 0 1-1.7 5.2A2.8 2.8 0 0 1 12 18.5M9 9.5a2 2 0 0 0 3 1.2M15 14.5a2 2 0 0 0-3-1.2',
  user: 'M12 4.5a3.75 3.75 0 1 0 0 7.5a3.75 3.75 0 1 0 0-7.5M4.8 20a7.2 7.2 0 0 1 14.4 0',
  alert: 'M12 4.5 3.7 19h16.6zM12 10v4M12 16.6h.01',
  info: 'M12 3.75a8.25 8.25 0 1 0 0 16.5a8.25 8.25 0 1 0 0-16.5M12 11v5M12 8h.01',
  refresh: 'M19.5 12a7.5 7.5 0 1 1-2.2-5.3L19.5 9M19.5 4.5V9H15',
  upload: 'M12 15.5v-11M7 9l5-5 5 5M5 19.5h14',
  sidebar:
    'M5 5h14a1.5 1.5 0 0 1 1.5 1.5v11A1.5 1.5 0 0 1 19 19H5a1.5 1.5 0 0 1-1.5-1.5v-11A1.5 1.5 0 0 1 5 5zM9.5 5v14',
  panel:
    'M5 5h14a1.5 1.5 0 0 1 1.5 1.5v11A1.5 1.5 0 0 1 19 19H5a1.5 1.5 0 0 1-1.5-1.5v-11A1.5 1.5 0 0 1 5 5zM14.5 5v14',
  command:
    'M9 9h6v6H9zM9 9V6.75A2.25 2.25 0 1 0 6.75 9zM15 9h2.25A2.25 2.25 0 1 0 15 6.75zM15 15v2.25A2.25 2.25 0 1 0 17.25 15zM9 15H6.75A2.25 2.25 0 1 0 9 17.25z',
  inbox: 'M4 13.5h4.500l1.500 3h4l1.500-3H20M6.500 5h11L20 13.500V19H4v-5.500z',
  clock: 'M12 3.75a8.25 8.25 0 1 0 0 16.5a8.25 8.25 0 1 0 0-16.5M12 7.5V12l3 2',
  paperclip:
    'M19 11.5l-7.3 7.3a4.6 4.6 0 0 1-6.5-6.5l7.7-7.7a3.05 3.05 0 0 1 4.3 4.3l-7.6 7.6a1.5 1.5 0 0 1-2.15-2.15l6.95-6.95',
  'arrow-down': 'M12 5v14M6 13l6 6 6-6',
  undo: 'M8.5 5 4.5 9l4 4M4.5 9h9.75a5.25 5.25 0 0 1 0 10.5H9',
  list: 'M9 6.5h11M9 12h11M9 17.5h11M4.5 6.5h.01M4.5 12h.01M4.5 17.5h.01',
  checklist:
    'M11 6.5h9M11 12h9M11 17.5h9M4 6.5l1.2 1.2L7.5 5.4M4 12l1.2 1.2 2.3-2.3M4 17.5l1.2 1.2 2.3-2.3',
  diff: 'M12 4.5v8M8 8.5h8M8 18.5h8',
  skill:
    'M12 6.5C10.5 5.200 8.300 4.700 4.500 4.700v13c3.800 0 6 .5 7.500 1.800 1.500-1.300 3.700-1.800 7.500-1.800v-13c-3.800 0-6 .5-7.500 1.800zM12 6.500v13',
  chart: 'M4.500 4.500v15h15M9 16v-4M13 16V8M17 16v-6',
  spinner: 'M12 4a8 8 0 1 1-8 8',
} as const

type MorePaths = typeof morePaths
export type IconName = keyof typeof paths | keyof MorePaths

/** Null until loaded. */
const more = signal<MorePaths | null>(null)

/** Loads the other icons. */
export const loadMoreIcons = async (): Promise<void> => {
  const { morePaths } = await import('./more-icons.ts')
  more.value = morePaths
}

const isFirst = (name: IconName): name is keyof typeof paths => Object.hasOwn(paths, name)

/** Empty while the path is loaded; the icon has its size already. */
const pathOf = (name: IconName): string => {
  if (isFirst(name)) return paths[name]
  if (more.value) return more.value[name]
  // Without them a button has its label; the next icon tries again.
  firstContent.then(loadMoreIcons).catch(() => undefined)
  return ''
}

const CLASSES: Partial<Record<IconName, string>> = {
  spinner: 'icon icon-spin',
  'chevron-right': 'icon icon-directional',
}

/** Decorative: its meaning must also be in text or in the control's label. */
export function Icon({ name, size = 16 }: { name: IconName; size?: number }) {
  return (
    <svg
      class={CLASSES[name] ?? 'icon'}
      width={size}
      height={size}
      viewBox="0 0 24 24"
      fill="none"
      stroke="currentColor"
      stroke-width={36 / Math.max(size, 16)}
      stroke-linecap="round"
      stroke-linejoin="round"
      aria-hidden="true"
      focusable="false"
    >
      <path d={pathOf(name)} />
    </svg>
  )
}
