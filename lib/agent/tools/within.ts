/** A number of lines or results: what is outside the limits is moved to them, because an error would only cost a step. */
import { z } from 'zod'

export const within = (least: number, most: number) =>
  z.number().transform(given => Math.min(most, Math.max(least, Math.trunc(given))))
