/** The sentence of a tool call, with its object as code or text. A long object is cut, so that a verb after it stays. */
import type { Phrase } from './describe-tool-call.ts'

export type ToolPhraseProps = { phrase: Phrase; object: string; code: boolean }

export const ToolPhrase = ({ phrase: { before, after }, object, code }: ToolPhraseProps) => (
  <span class="phrase">
    {before}
    {object && (code ? <code>{object}</code> : <span class="phrase-object">{object}</span>)}
    {after}
  </span>
)
