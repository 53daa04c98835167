/** Text from another view, put into the message box of the open chat. */
import type { App } from '../../app.ts'

/** Before what is written there; a command that was put there before is replaced. */
export const putIntoMessage = (
  { composer: { draft }, shell: { route }, pane }: App,
  text: string,
): void => {
  route.backToChat()
  const written = draft.text.value.replace(/^\/[\w:.-]+(?:\s+|$)/, '')
  draft.edit(written ? `${text.trimEnd()} ${written}` : text)
  pane.focusComposer()
}
