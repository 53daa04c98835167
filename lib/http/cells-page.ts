/** The page on which a forwarder lists someone's cells, or says why one cannot be opened: the HTML document with its CSP. */
import { randomBytes } from 'node:crypto'
import { directionOf, preferredLanguage } from '../base/languages.ts'
import type { ListedCell } from '../schema/cell.ts'
import { CELLS_TEXTS, type CellsTexts } from './cells-texts.ts'
import { documentPolicy, fillTemplate } from './html-template.ts'

/** Why there is no list. */
export type Refusal = Extract<
  keyof CellsTexts,
  'nothing' | 'unnamed' | 'starting' | 'full' | 'away'
>

/** These change by themselves. */
const PASSING: ReadonlySet<Refusal> = new Set(['starting', 'full', 'away'])

export const cellsPage = (
  template: string,
  given: {
    /** Path prefix, with a trailing slash. */
    base: string
    acceptLanguage: string | undefined
    person: string | null
    botName: string
    shown: readonly ListedCell[] | Refusal
  },
): { document: string; policy: string } => {
  const { base, person, shown, botName } = given
  const language = preferredLanguage(given.acceptLanguage)
  const texts = CELLS_TEXTS[language]
  const isList = typeof shown !== 'string'
  const nonce = randomBytes(16).toString('base64url')
  const document = fillTemplate(template, {
    base,
    nonce,
    person: person ?? '',
    lang: language,
    dir: directionOf(language),
    heading: isList ? texts.title : botName,
    title: isList ? texts.title : botName,
    signed_in: person === null ? '' : texts.signedIn.replace('{person}', () => person),
    message: isList ? '' : texts[shown],
    retry: !isList && PASSING.has(shown) ? 'yes' : '',
    cells: isList ? JSON.stringify(shown) : '',
  })
  return { document, policy: documentPolicy(template, { images: 'data:', forms: "'none'", nonce }) }
}
