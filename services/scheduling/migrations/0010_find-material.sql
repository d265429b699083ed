-- Up Migration
-- Who has a material, by its ID alone. On the search text, since a review rewrites its material's row but never this one.
CREATE INDEX material_search_by_id ON scheduling.material_search (material_id);
