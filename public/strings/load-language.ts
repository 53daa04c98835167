/** Loads the messages of the page's language, named by the server in `<html lang>`. */
import { fetchStatic } from '../api.ts'
import { type Catalogs, setLanguage } from './t.ts'

/** `base`: the address of the page's directory. Without the file, such as offline, the page is in English. */
export const loadLanguage = async (language: string, base: string): Promise<void> => {
  const messages =
    language === 'en' ? {} : await fetchStatic(base, `${language}.json`).catch(() => null)
  if (messages) setLanguage(language, messages as Catalogs)
}
