/** Between the launcher and the payload. */
export const PAYLOAD_MARK: string
/** Of a built file; a launcher is shorter. */
export const HEAD_BYTES: number
