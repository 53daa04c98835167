/** Loads the texts of the page's language: those of a script with the script, so that what it shows is never in English first. */
import { fetchStatic } from '../api.ts'
import { addCatalogs, type Catalogs, setLanguage } from './t.ts'

declare global {
  /** The build puts it in the place of each lazy import of a script that has texts, or imports some that have (`build/texts.mjs`). */
  var importWithTexts: (script: string) => Promise<unknown>
}

/** A script of this build: `main-4F2AQX7B.js` imports `tasks-view-4F2AQX7B.js`. */
const importOfBuild = (script: string): Promise<unknown> => {
  const url = import.meta.url.replace(/[^/]+(?=-\w+\.js$)/, script)
  return import(url)
}

/** In the file of the first script: the names of the texts that other scripts need. */
type Loaded = Catalogs & { needs?: Readonly<Record<string, string>> }

/**
 * `base`: the address of the page's directory. `names`: the value of `data-texts`, what the page shows first. Resolves when that is
 * loaded, with a function that requests again what could not be loaded, and is in English until then.
 */
export const loadLanguage = async (
  language: string,
  base: string,
  names = '',
  importScript = importOfBuild,
): Promise<() => void> => {
  const [version, ...first] = names.split(' ')
  const loads = new Map<string, Promise<void>>()
  const sources = new Set<string>()
  let needs: Loaded['needs']

  const request = async (name: string): Promise<void> => {
    try {
      const texts = (await fetchStatic(base, `${language}.${name}-${version}.json`)) as Loaded
      needs ??= texts.needs
      addCatalogs(texts)
    } catch {
      loads.delete(name)
      sources.add(name)
    }
  }
  const load = (name: string): Promise<void> => {
    if (!loads.has(name)) loads.set(name, request(name))
    return loads.get(name)!
  }
  const retry = () => Promise.all([...sources].map(load))
  const loadFor = async (script: string): Promise<void> => {
    // The texts of the page name those of the script.
    if (!needs) await retry()
    await Promise.all((needs?.[script]?.split(' ') ?? []).map(load))
  }
  window.importWithTexts = async script =>
    (await Promise.all([importScript(script), loadFor(script)]))[0]
  if (language !== 'en') {
    setLanguage(language, {})
    await Promise.all(first.map(load))
  }
  return () => void retry()
}
