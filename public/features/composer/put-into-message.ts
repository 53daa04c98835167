/** Text from another view, put into the message box of the open chat. */
import type { App } from '../../app.ts'

/** Before what is written there; a command that was put there before is replaced. */
export const putIntoMessage = (
  { composer, route, focusComposer }: Pick<App, 'composer' | 'route' | 'focusComposer'>,
  text: string,
): void => {
  route.backToChat()
  const written = composer.text.value.replace(/^\/[\w:.-]+(?:\s+|$)/, '')
  composer.edit(written ? `${text.trimEnd()} ${written}` : text)
  focusComposer()
}
