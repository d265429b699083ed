-- Up Migration
-- Who has a material, by what pages show of its ID: the last characters, which are random. Beside material_search_by_id. No material is
-- made, edited or deleted while it is built; reviews go on.
CREATE INDEX material_search_by_id_ending ON scheduling.material_search (right(material_id::text, 8));
