/** Compares the index of the settings, which the palette and the search field use, with what the sections show. */
import { posix } from 'node:path'
import { reachable } from './_layers.ts'
import { codeOf, type Source } from './_rules.ts'

const FOLDER = 'public/features/settings/'
const VIEW = `${FOLDER}settings-view.tsx`
const INDEX = `${FOLDER}settings-index.ts`

/** `general` → `public/features/settings/general.tsx`, from the table of sections. */
const rootsOf = (view: string): [section: string, path: string][] => {
  const table = /const sections[\s\S]*?\n\}/.exec(view)?.[0] ?? ''
  return [...table.matchAll(/^ {2}(\w+): (.*)/gm)].flatMap(([, section = '', value = '']) => {
    const from =
      /import\(["']([^"']+)/.exec(value)?.[1] ??
      new RegExp(`import \\{[^}]*\\b${/^\w+/.exec(value)}\\b[^}]*\\} from ["']([^"']+)`).exec(
        view,
      )?.[1]
    return from ? [[section, posix.join(FOLDER, from)] as [string, string]] : []
  })
}

const VIEWS = /^public\/features\/(?!shell\/).*\.tsx$/

/** A heading, or the label of a row: `<h3>{t('api.title')}</h3>`, `<Row label={t('api.enable')}`. */
const SHOWN =
  /<(?:h3|legend)\b[^>]*>\s*\{t\(["']([\w.]+)|<(?:Row|\w+Row)\b[^<]*?\blabel=\{t\(["']([\w.]+)/g

/** Tools are named by the server. */
const WITHOUT_ENTRIES = 'tools'

/** `section: key` for each heading and row that the index lacks, and for each entry that its section does not show. */
export const settingsOutOfIndex = (sources: readonly Source[]): string[] => {
  const textOf = (path: string) => sources.find(source => source.path === path)?.text ?? ''
  const entries = [...textOf(INDEX).matchAll(/\bentry\(\s*'(\w+)',([^\n]*)/g)].map(
    ([, section = '', texts = '']) => ({
      section,
      keys: [...texts.matchAll(/'([\w.]+)'/g)].map(([, key = '']) => key),
    }),
  )
  const indexed = new Set(entries.flatMap(({ keys }) => keys))
  const codes = new Map(
    rootsOf(textOf(VIEW)).map(([section, root]) => {
      const files = reachable(root, sources)
      const shown = sources.filter(({ path }) => files.has(path) && VIEWS.test(path))
      return [section, shown.map(codeOf).join('\n')]
    }),
  )
  const missing = [...codes].flatMap(([section, code]) =>
    [...code.matchAll(SHOWN)]
      .map(([, heading = '', row = '']) => heading || row)
      .filter(key => section !== WITHOUT_ENTRIES && !indexed.has(key))
      .map(key => `${section}: ${key}`),
  )
  const elsewhere = entries.flatMap(({ section, keys: [key = ''] }) => {
    const code = codes.get(section) ?? ''
    const begin = key.slice(0, key.indexOf('.') + 1)
    const isShown = new RegExp(`["']${key}["']`).test(code) || code.includes(`\`${begin}\${`)
    return isShown ? [] : [`${section}: ${key}`]
  })
  return [...new Set([...missing, ...elsewhere])]
}
