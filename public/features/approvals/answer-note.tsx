/** Beside the buttons of a question, or in their place: what became of the answer. */
export const AnswerNote = ({ words }: { words: string }) =>
  words === '' ? null : <p class="ask-note">{words}</p>
