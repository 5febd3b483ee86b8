// SPDX-License-Identifier: Apache-2.0

// Package report writes what people download.
package report

import (
	"bytes"
	"encoding/csv"
	"fmt"
	"strconv"
	"strings"

	"example.org/shop/internal/store"
)

// Reports are written once and cached.
type Reports struct{ written store.Cache }

// New uses that cache.
func New(written store.Cache) *Reports { return &Reports{written} }

// Sales is the report of a month.
func (r *Reports) Sales(month string) []byte {
	if data, found := r.written.Get(month); found {
		return data
	}
	data := sales(month)
	r.written.Put(month, data)
	return data
}

func sales(month string) []byte {
	var buffer bytes.Buffer
	writer := csv.NewWriter(&buffer)
	for row := 0; row < 1500; row++ {
		_ = writer.Write([]string{month, strconv.Itoa(row), fmt.Sprintf("customer %d", row*7), strconv.Itoa(row * 13), "paid, delivered"})
	}
	writer.Flush()
	return buffer.Bytes()
}

// Invoice is the text of an order's bill.
func Invoice(order *store.Order) string {
	var text strings.Builder
	for _, item := range order.Items {
		fmt.Fprintf(&text, "%-12s %-40s %4d x %8.2f\n", item.SKU, item.Title, item.Quantity, item.Price)
	}
	fmt.Fprintf(&text, "total %.2f\n", order.Total())
	return text.String()
}

// Thumbnail is a small picture of a product.
func Thumbnail(seed, size int) []byte {
	pixels := make([]byte, 3*size*size)
	for i := range pixels {
		pixels[i] = byte(i * seed)
	}
	return pixels
}
