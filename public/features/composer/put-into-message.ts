/** Text from another view, put into the message box of the open chat. */
import type { App } from '../../app.ts'

/** Before what is written there; a command that was put there before is replaced. */
export const putIntoMessage = (
  { composer: { draft }, shell: { route }, pane }: App,
  text: string,
): void => {
  route.backToChat()
  const rest = draft.text.value.replace(/^\/[\w:.-]+(?:\s+|$)/, '')
  draft.edit(rest ? `${text.trimEnd()} ${rest}` : text)
  pane.focusComposer()
}
