/** An answer that is sent once, and can be sent again when no confirmation arrives. */
import { useEffect, useState } from 'preact/hooks'
import type { Clock } from '../../../lib/base/clock.ts'

/** After this time without a confirmation the answer can be sent again. */
const AGAIN_MS = 8_000

/** `send` does nothing while an answer is on its way. */
export const useAnswer = (
  clock: Clock,
): { isSent: boolean; send: (answer: () => void) => void } => {
  const [isSent, setSent] = useState(false)
  useEffect(() => {
    if (!isSent) return
    return clock.timer(AGAIN_MS, () => setSent(false))
  }, [isSent])
  return {
    isSent,
    send(answer) {
      if (isSent) return
      setSent(true)
      answer()
    },
  }
}
