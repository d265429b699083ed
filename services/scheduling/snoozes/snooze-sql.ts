// SQL that lists and cancellations of snoozes share.

/** Whether the material of the row `p` of snoozed_materials still waits because of that snooze; $1 is the user. */
export const IS_CANCELLABLE = `p.cancel_revision IS NULL
  AND NOT EXISTS (SELECT FROM scheduling.reviews r
                  WHERE r.user_id = $1 AND r.material_id = p.material_id AND r.revision > p.revision)
  AND NOT EXISTS (SELECT FROM scheduling.snoozed_materials later
                  WHERE later.user_id = $1 AND later.material_id = p.material_id AND later.revision > p.revision
                    AND later.cancel_revision IS NULL)`;
