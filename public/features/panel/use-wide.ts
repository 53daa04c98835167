/** Whether the sheet has room for a list and what is chosen in it side by side: in the place of the chat, not on a phone. */
import { usePanel, useShell } from '../../contexts.ts'

export const useWide = (): boolean => {
  const { full } = usePanel()
  const { layout } = useShell()
  return full.value && !layout.narrow.value
}
