/** Loads the messages of the page's language, named by the server in `<html lang>`. */
import { type Messages, setLanguage } from './t.ts'

/** `base`: the address of the page's directory. Without the file, such as offline, the page is in English. */
export const loadLanguage = async (language: string, base: string): Promise<void> => {
  const messages = language === 'en' ? {} : await fetchMessages(language, base)
  if (messages) setLanguage(language, messages)
}

const fetchMessages = async (language: string, base: string): Promise<Messages | null> => {
  try {
    const response = await fetch(new URL(`static/${language}.json`, base))
    return response.ok ? await response.json() : null
  } catch {
    return null
  }
}
